import io.openmessaging.storage.dledger.client.DLedgerClient;
import io.openmessaging.storage.dledger.protocol.AppendEntryResponse;
import io.openmessaging.storage.dledger.protocol.GetEntriesResponse;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * DLedger's own client: Client GROUP PEERS. Each line of its input is a command, answered by a line.
 *
 * <pre>
 * append VALUE            code index term leader
 * get INDEX               code term value
 * load PREFIX COUNT THREADS   confirmed seconds, and the microseconds of each confirmed append
 * </pre>
 */
public final class Client {
    private Client() {}

    public static void main(String[] words) throws Exception {
        DLedgerClient client = new DLedgerClient(words[0], words[1]);
        client.startup();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] command = line.split(" ", 2);
            if (command[0].equals("append")) {
                AppendEntryResponse answer = client.append(command[1].getBytes(StandardCharsets.UTF_8));
                say(answer.getCode() + " " + answer.getIndex() + " " + answer.getTerm() + " " + answer.getLeaderId());
            } else if (command[0].equals("get")) {
                say(shown(client.get(Long.parseLong(command[1]))));
            } else {
                String[] load = command[1].split(" ");
                say(load(client, load[0], Integer.parseInt(load[1]), Integer.parseInt(load[2])));
            }
        }
        client.shutdown();
        System.exit(0); // its scheduled threads would keep the process
    }

    private static void say(String answer) {
        System.out.println("ANSWER " + answer); // what the libraries print does not begin so
        System.out.flush();
    }

    private static String shown(GetEntriesResponse answer) {
        if (answer.getEntries() == null || answer.getEntries().isEmpty()) {
            return answer.getCode() + " -1 ";
        }
        String body = new String(answer.getEntries().get(0).getBody(), StandardCharsets.UTF_8);
        return answer.getCode() + " " + answer.getEntries().get(0).getTerm() + " " + body;
    }

    private static String load(DLedgerClient client, String prefix, int count, int threads) throws Exception {
        AtomicInteger next = new AtomicInteger();
        List<Long> micros = new ArrayList<>();
        List<Thread> running = new ArrayList<>();
        long begin = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> append(client, prefix, count, next, micros));
            thread.start();
            running.add(thread);
        }
        for (Thread thread : running) {
            thread.join();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        StringBuilder answer = new StringBuilder(micros.size() + " " + seconds);
        micros.forEach(each -> answer.append(' ').append(each));
        return answer.toString();
    }

    private static void append(DLedgerClient client, String prefix, int count, AtomicInteger next, List<Long> micros) {
        for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
            long begin = System.nanoTime();
            AppendEntryResponse answer = client.append((prefix + i).getBytes(StandardCharsets.UTF_8));
            long taken = (System.nanoTime() - begin) / 1000;
            if (answer.getCode() == 200) {
                synchronized (micros) {
                    micros.add(taken);
                }
            }
        }
    }
}
