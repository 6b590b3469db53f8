import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import io.openmessaging.storage.dledger.protocol.AppendEntryRequest;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A node of the unmodified DLedger: Node GROUP ID PEERS STORE [FIELD=VALUE ...], fields being those of DLedgerConfig.
 *
 * <p>It runs until SIGTERM, on which it shuts down in order. Not every field has a setter in every version, so they are
 * set by reflection. With `stamps=1` a hook of the store replaces the first byte of each body that a leader stores, as
 * RocketMQ's broker writes its place into it. Each line of its input is a command, answered by a line:
 *
 * <pre>
 * load COUNT BYTES UNDER_WAY   confirmed seconds; appends as RocketMQ's broker does, in the process of the leader
 * </pre>
 */
public final class Node {
    private Node() {}

    public static void main(String[] words) throws Exception {
        DLedgerConfig config = new DLedgerConfig();
        config.setGroup(words[0]);
        config.setSelfId(words[1]);
        config.setPeers(words[2]);
        config.setStoreBaseDir(words[3]);
        boolean stamps = false;
        for (int i = 4; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            if (pair[0].equals("stamps")) {
                stamps = true;
            } else {
                set(config, pair[0], pair[1]);
            }
        }
        DLedgerServer server = new DLedgerServer(config);
        if (stamps) {
            ((DLedgerMmapFileStore) server.getdLedgerStore()).addAppendHook((entry, buffer, body) ->
                    buffer.put(buffer.position() + body, (byte) ('a' + entry.getIndex() % 26)));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        server.startup();
        System.out.println("started " + words[1]);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] command = line.split(" ");
            long begin = System.nanoTime();
            int confirmed = load(server, config, Integer.parseInt(command[1]), Integer.parseInt(command[2]),
                    Integer.parseInt(command[3]));
            System.out.println("ANSWER " + confirmed + " " + (System.nanoTime() - begin) / 1e9); // what the libraries print does not begin so
            System.out.flush();
        }
        Thread.currentThread().join();
    }

    /** Appends bodies without waiting for those before, so many of them under way; returns how many were confirmed. */
    private static int load(DLedgerServer server, DLedgerConfig config, int count, int bytes, int underWay)
            throws Exception {
        byte[] body = new byte[bytes];
        Arrays.fill(body, (byte) 'x');
        Semaphore free = new Semaphore(underWay);
        AtomicInteger confirmed = new AtomicInteger();
        for (int i = 0; i < count; i++) {
            free.acquire();
            AppendEntryRequest request = new AppendEntryRequest();
            request.setGroup(config.getGroup());
            request.setRemoteId(config.getSelfId());
            byte[] own = body.clone();
            System.arraycopy(String.format("%010d", i).getBytes(StandardCharsets.US_ASCII), 0, own, 0, 10);
            request.setBody(own);
            server.handleAppend(request).whenComplete((answer, error) -> {
                if (error == null && answer.getCode() == 200) {
                    confirmed.incrementAndGet();
                }
                free.release();
            });
        }
        free.acquire(underWay);
        return confirmed.get();
    }

    private static void set(DLedgerConfig config, String name, String value) throws ReflectiveOperationException {
        Field field = DLedgerConfig.class.getDeclaredField(name);
        field.setAccessible(true);
        if (field.getType() == int.class) {
            field.setInt(config, Integer.parseInt(value));
        } else if (field.getType() == long.class) {
            field.setLong(config, Long.parseLong(value));
        } else if (field.getType() == boolean.class) {
            field.setBoolean(config, Boolean.parseBoolean(value));
        } else {
            field.set(config, value);
        }
    }
}
