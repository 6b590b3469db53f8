package lockstep.recorder;

import static lockstep.recorder.LineFile.LOCK;

import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.Properties;
import java.util.TreeSet;

/**
 * The lines of a node's role and store, and of its life.
 *
 * <p>A line is made with its effect: who changes something that others read without a lock of DLedger's holds LOCK from
 * before the change until its line is made.
 */
public final class Recorder {
    public static volatile MemberState member;
    public static volatile DLedgerMmapFileStore store;
    public static volatile boolean isRecovering;
    /**
     * Whether the node has started. RocketMQ's broker lets the store recover before, and once more as the node starts;
     * the line of the start is the first, so only the second recovery has lines.
     */
    static volatile boolean isStarted;

    private static final String[] THREADS = {"StateMaintainer", "QuorumAckChecker", "EntryHandler", "EntryDispatcher"};
    private static final ThreadLocal<String> THREAD = ThreadLocal.withInitial(Recorder::threadByName);
    private static String head;
    private static Field knownMaxTerm;
    private static long lastEnd = -2;
    private static long lastCommitted = -2;

    private Recorder() {}

    /** Begins a line; LOCK is held. */
    static Lines begin(String kind) {
        if (head == null) {
            head = "\",\"node\":\"" + member.getSelfId() + "\"";
        }
        return LineFile.begin().raw("{\"t\":").number(System.nanoTime()).raw(",\"kind\":\"").raw(kind).raw(head);
    }

    static void end(Lines line) {
        LineFile.end(line.raw("}"));
    }

    // ---- What lines show ----

    static Field field(Object object, String name) {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            try {
                Field field = type.getDeclaredField(name);
                field.setAccessible(true);
                return field;
            } catch (NoSuchFieldException error) {
                continue; // a superclass may have it: here, a class that the agent has made below DLedger's own
            }
        }
        throw new IllegalStateException("no field " + name + " in " + object.getClass());
    }

    static Lines by(Lines line) {
        return line.raw(",\"by\":\"").raw(by()).raw("\"");
    }

    /** The thread, by the name that DLedger gives it. */
    static String by() {
        return isRecovering ? "main" : THREAD.get();
    }

    private static String threadByName() {
        String name = Thread.currentThread().getName();
        for (String each : THREADS) {
            if (name.startsWith(each)) {
                return each;
            }
        }
        return "net";
    }

    /** The log of the store at one moment. */
    static final class Log {
        final long begin = store.getLedgerBeginIndex();
        final long end = store.getLedgerEndIndex();
        final long endTerm = store.getLedgerEndTerm();
        final long committed = store.getCommittedIndex();

        Lines addTo(Lines line) {
            return line.raw("\"begin\":").number(begin).raw(",\"end\":").number(end).raw(",\"endTerm\":")
                    .number(endTerm).raw(",\"committed\":").number(committed).raw("}");
        }
    }

    static Lines node(Lines line) {
        line.raw(",\"st\":{\"role\":\"").raw(member.getRole().name()).raw("\",\"term\":").number(member.currTerm())
                .raw(",\"leader\":").text(member.getLeaderId()).raw(",");
        return new Log().addTo(line);
    }

    static Lines entry(Lines line, DLedgerEntry entry, byte[] shown) {
        return line.raw(",\"index\":").number(entry.getIndex()).raw(",\"entryTerm\":").number(entry.getTerm())
                .raw(",\"val\":").value(shown).raw(",\"pos\":").number(entry.getPos());
    }

    static Lines inLog(Lines line, DLedgerEntry entry, byte[] shown) {
        return line.raw("[").number(entry.getIndex()).raw(",").number(entry.getTerm()).raw(",").value(shown).raw("]");
    }

    // ---- Its life ----

    /**
     * The node starts. The line has what is to be known of the group, and this moment by the wall clock: the hosts of a
     * group have no other clock in common.
     */
    public static void started() {
        LOCK.lock();
        try {
            isStarted = true;
            Lines line = begin("start").raw(",\"version\":").text(version()).raw(",\"batches\":")
                    .flag(member.dLedgerConfig.isEnableBatchPush()).raw(",\"members\":[");
            boolean isFirst = true;
            for (String each : new TreeSet<>(member.getPeerMap().keySet())) {
                line.comma(isFirst).text(each);
                isFirst = false;
            }
            end(line.raw("],\"wall_ms\":").number(System.currentTimeMillis()));
        } finally {
            LOCK.unlock();
        }
    }

    /** The version of DLedger, as Maven wrote it into the jar. */
    private static String version() {
        String file = "/META-INF/maven/io.openmessaging.storage/dledger/pom.properties";
        try (InputStream stream = MemberState.class.getResourceAsStream(file)) {
            Properties properties = new Properties();
            properties.load(stream);
            return properties.getProperty("version");
        } catch (IOException | NullPointerException error) {
            throw new IllegalStateException("the jar of DLedger does not name its version", error);
        }
    }

    public static void life(String kind) {
        LOCK.lock();
        try {
            end(node(begin(kind)));
        } finally {
            LOCK.unlock();
        }
    }

    public static void recovered() {
        if (!isStarted) {
            return;
        }
        LOCK.lock();
        try {
            Lines line = begin("recovered").raw(",\"currTerm\":").number(member.currTerm()).raw(",\"votedFor\":")
                    .text(member.currVoteFor());
            node(line).raw(",\"log\":[");
            long first = Math.max(0, store.getLedgerBeginIndex());
            for (long index = first; index <= store.getLedgerEndIndex(); index++) {
                DLedgerEntry entry = store.get(index);
                inLog(line.comma(index == first), entry, Lines.shown(entry.getBody()));
            }
            end(line.raw("]"));
        } finally {
            LOCK.unlock();
        }
    }

    /** The member has changed; LOCK is held since before. */
    public static void roleChanged(String method) throws IllegalAccessException {
        if (knownMaxTerm == null) {
            knownMaxTerm = field(member, "knownMaxTermInGroup");
        }
        Lines line = begin("role").raw(",\"op\":\"").raw(method).raw("\",\"role\":\"").raw(member.getRole().name())
                .raw("\",\"term\":").number(member.currTerm()).raw(",\"leaderId\":").text(member.getLeaderId())
                .raw(",\"votedFor\":").text(member.currVoteFor()).raw(",\"knownMaxTerm\":")
                .number(knownMaxTerm.getLong(member)).raw(",\"endIndex\":").number(member.getLedgerEndIndex())
                .raw(",\"endTerm\":").number(member.getLedgerEndTerm());
        end(by(line));
    }

    // ---- The store ----

    /** Returns the end of the log and its committed index, which a checkpoint is about to have. */
    public static long[] ends() {
        return new long[] {store.getLedgerEndIndex(), store.getCommittedIndex()};
    }

    /** The checkpoint was written; repeats are left out. */
    public static void checkPoint(long end, long committed) {
        if (!isStarted) {
            return;
        }
        LOCK.lock();
        try {
            if (end != lastEnd || committed != lastCommitted) {
                lastEnd = end;
                lastCommitted = committed;
                end(begin("checkpoint").raw(",\"endIndex\":").number(end).raw(",\"committedIndex\":").number(committed));
            }
        } finally {
            LOCK.unlock();
        }
    }
}
