import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import io.openmessaging.storage.dledger.store.file.MmapFile;
import io.openmessaging.storage.dledger.store.file.MmapFileList;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.zip.CRC32;

/**
 * Makes calls of DLedgerMmapFileStore, a line each, and answers with what the store shows after each: its services for
 * flushing and cleaning do not run. Words of a line are divided by spaces; the body of an entry is the last one.
 */
public class StoreCalls {
    private static DLedgerConfig config;
    private static MemberState member;
    private static DLedgerMmapFileStore store;

    public static void main(String[] args) throws Exception {
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] words = line.split(" ", -1);
            boolean done = true;
            try {
                take(words);
            } catch (Throwable t) {
                done = false;
                System.err.println(line + ": " + t);
            }
            System.out.println("SHOWN " + (done ? "1" : "0") + shown());
            System.out.flush();
        }
        System.exit(0);
    }

    private static long number(String word) {
        return Long.parseLong(word);
    }

    private static void take(String[] words) throws Exception {
        switch (words[0]) {
            case "open": // folder, size of data files, size of index files
                config = new DLedgerConfig();
                config.setGroup("g");
                config.setSelfId("n0");
                config.setPeers("n0-localhost:20911");
                config.setStoreBaseDir(words[1]);
                config.setMappedFileSizeForEntryData((int) number(words[2]));
                config.setMappedFileSizeForEntryIndex((int) number(words[3]));
                recover();
                break;
            case "recover":
                recover();
                break;
            case "appendAsLeader": // term, body
                enter(number(words[1]));
                member.changeToLeader(number(words[1]));
                DLedgerEntry own = new DLedgerEntry();
                own.setBody(words[2].getBytes(StandardCharsets.UTF_8));
                store.appendAsLeader(own);
                break;
            case "appendAsFollower": // term, index, pos, body
                follow(number(words[1]));
                store.appendAsFollower(entry(words), number(words[1]), "n1");
                break;
            case "truncate": // term, index, pos, body
                follow(number(words[1]));
                store.truncate(entry(words), number(words[1]), "n1");
                break;
            case "updateCommittedIndex": // term, index, term of the node
                enter(number(words[3]));
                store.updateCommittedIndex(number(words[1]), number(words[2]));
                break;
            case "persistCheckPoint":
                call("persistCheckPoint");
                break;
            case "flush":
                store.flush();
                break;
            case "deleteExpired": // files that were written to so many milliseconds ago; whether all are
                int count = store.getDataFileList().deleteExpiredFileByTime(number(words[1]), 0, 1000, words[2].equals("1"));
                if (count > 0) {
                    call("reviseLedgerBeginIndex");
                }
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static void recover() throws Exception {
        member = new MemberState(config);
        enter(0);
        store = new DLedgerMmapFileStore(config, member);
        store.load();
        store.recover();
    }

    private static void enter(long term) throws Exception {
        Field field = MemberState.class.getDeclaredField("currTerm");
        field.setAccessible(true);
        field.setLong(member, term);
    }

    private static void follow(long term) throws Exception {
        enter(term);
        member.changeToFollower(term, "n1");
    }

    private static DLedgerEntry entry(String[] words) {
        DLedgerEntry entry = new DLedgerEntry();
        entry.setMagic(DLedgerMmapFileStore.CURRENT_MAGIC);
        entry.setTerm(number(words[1]));
        entry.setIndex(number(words[2]));
        entry.setPos(number(words[3]));
        entry.setBody(words[4].getBytes(StandardCharsets.UTF_8));
        entry.computeSizeInBytes();
        return entry;
    }

    private static void call(String name) throws Exception {
        Method method = DLedgerMmapFileStore.class.getDeclaredMethod(name);
        method.setAccessible(true);
        method.invoke(store);
    }

    private static String shown() throws Exception {
        StringBuilder text = new StringBuilder();
        text.append(" ").append(store.getLedgerBeginIndex()).append(" ").append(store.getLedgerEndIndex());
        text.append(" ").append(store.getLedgerEndTerm()).append(" ").append(store.getCommittedIndex());
        text.append(" ").append(store.getCommittedPos());
        text.append(" ").append(list(store.getDataFileList(), config.getDataStorePath()));
        text.append(" ").append(list(store.getIndexFileList(), config.getIndexStorePath()));
        text.append(" ");
        for (long index = Math.max(0, store.getLedgerBeginIndex()); index <= store.getLedgerEndIndex(); index++) {
            text.append(read(index)).append(",");
        }
        return text.toString();
    }

    private static String read(long index) {
        try {
            DLedgerEntry entry = store.get(index);
            return entry.getIndex() == index
                ? entry.getTerm() + ":" + new String(entry.getBody(), StandardCharsets.UTF_8) : "-";
        } catch (Throwable t) {
            return "-";
        }
    }

    private static String list(MmapFileList list, String folder) throws Exception {
        StringBuilder text = new StringBuilder().append(list.getFlushedWhere()).append(";");
        for (MmapFile file : list.getMappedFiles()) {
            text.append(file.getWrotePosition()).append("/").append(file.getFlushedPosition()).append(";");
        }
        File[] files = new File(folder).listFiles();
        File[] sorted = files == null ? new File[0] : files;
        Arrays.sort(sorted);
        for (File file : sorted) {
            CRC32 crc = new CRC32();
            crc.update(Files.readAllBytes(file.toPath()));
            text.append(file.getName()).append("=").append(file.length()).append("=").append(crc.getValue()).append(";");
        }
        return text.toString();
    }
}
