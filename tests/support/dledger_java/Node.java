import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import java.lang.reflect.Field;

/**
 * A node of the unmodified DLedger: Node GROUP ID PEERS STORE [FIELD=VALUE ...], fields being those of DLedgerConfig.
 *
 * <p>It runs until SIGTERM, on which it shuts down in order. Not every field has a setter in every version, so they are
 * set by reflection.
 */
public final class Node {
    private Node() {}

    public static void main(String[] words) throws Exception {
        DLedgerConfig config = new DLedgerConfig();
        config.setGroup(words[0]);
        config.setSelfId(words[1]);
        config.setPeers(words[2]);
        config.setStoreBaseDir(words[3]);
        for (int i = 4; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            set(config, pair[0], pair[1]);
        }
        DLedgerServer server = new DLedgerServer(config);
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        server.startup();
        System.out.println("started " + words[1]);
        Thread.currentThread().join();
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
