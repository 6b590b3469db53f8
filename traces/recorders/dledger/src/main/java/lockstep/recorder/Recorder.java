package lockstep.recorder;

import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The lines of a node's role, store, watermarks and dispatchers.
 *
 * <p>A line is written with its effect: who changes something that others read without a lock of DLedger's holds LOCK from before the change
 * until its line is written. DLedger's own monitors are taken before it, never after.
 */
public final class Recorder {
    /** Lines are written, and what they show is changed, under this lock. */
    public static final ReentrantLock LOCK = new ReentrantLock();

    public static volatile MemberState member;
    public static volatile DLedgerMmapFileStore store;
    public static volatile boolean isRecovering;

    private static final String[] THREADS = {"StateMaintainer", "QuorumAckChecker", "EntryHandler", "EntryDispatcher"};
    private static final ConcurrentMap<String, Field> FIELDS = new ConcurrentHashMap<>();
    private static long[] lastCheckPoint = {};
    private static String lastUnchanged = "";

    private Recorder() {}

    public static void line(String kind, String fields) {
        LOCK.lock();
        try {
            String head = "{\"t\":" + System.nanoTime() + ",\"kind\":\"" + kind + "\"";
            LineFile.write(head + ",\"node\":" + Json.text(member.getSelfId()) + fields + "}");
        } finally {
            LOCK.unlock();
        }
    }

    // ---- What lines show ----

    static Object get(Object object, String name) {
        try {
            return FIELDS.computeIfAbsent(object.getClass().getName() + "." + name, key -> field(object, name))
                    .get(object);
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

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

    /** The thread, by the name that DLedger gives it. */
    static String by() {
        if (isRecovering) {
            return ",\"by\":\"main\"";
        }
        String name = Thread.currentThread().getName();
        for (String each : THREADS) {
            if (name.startsWith(each)) {
                return ",\"by\":\"" + each + "\"";
            }
        }
        return ",\"by\":\"net\"";
    }

    private static String log() {
        return "{\"begin\":" + store.getLedgerBeginIndex() + ",\"end\":" + store.getLedgerEndIndex() + ",\"endTerm\":"
                + store.getLedgerEndTerm() + ",\"committed\":" + store.getCommittedIndex() + "}";
    }

    static String node() {
        return ",\"st\":{\"role\":\"" + member.getRole() + "\",\"term\":" + member.currTerm() + ",\"leader\":"
                + Json.text(member.getLeaderId()) + "," + log().substring(1);
    }

    static String dispatcher(Object dispatcher) {
        int pending = ((Map<?, ?>) get(dispatcher, "pendingMap")).size()
                + ((Map<?, ?>) get(dispatcher, "batchPendingMap")).size();
        return ",\"disp\":{\"type\":\"" + get(dispatcher, "type") + "\",\"compareIndex\":"
                + get(dispatcher, "compareIndex") + ",\"writeIndex\":" + get(dispatcher, "writeIndex") + ",\"term\":"
                + get(dispatcher, "term") + ",\"pending\":" + pending + "}";
    }

    static String entry(DLedgerEntry entry) {
        return ",\"index\":" + entry.getIndex() + ",\"entryTerm\":" + entry.getTerm() + ",\"val\":"
                + Json.value(entry.getBody()) + ",\"pos\":" + entry.getPos();
    }

    static String inLog(DLedgerEntry entry) {
        return "[" + entry.getIndex() + "," + entry.getTerm() + "," + Json.value(entry.getBody()) + "]";
    }

    // ---- Its life ----

    /**
     * The node starts. The line has what is to be known of the group, and this moment by the wall clock: the hosts of a
     * group have no other clock in common.
     */
    public static void started() {
        StringBuilder members = new StringBuilder();
        for (String each : new TreeSet<>(member.getPeerMap().keySet())) {
            members.append(members.length() == 0 ? "" : ",").append(Json.text(each));
        }
        line("start", ",\"version\":" + Json.text(version()) + ",\"batches\":" + member.dLedgerConfig.isEnableBatchPush()
                + ",\"members\":[" + members + "],\"wall_ms\":" + System.currentTimeMillis());
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
            line(kind, node());
        } finally {
            LOCK.unlock();
        }
    }

    public static void recovered() {
        StringBuilder entries = new StringBuilder();
        long end = store.getLedgerEndIndex();
        for (long index = Math.max(0, store.getLedgerBeginIndex()); index <= end; index++) {
            entries.append(entries.length() == 0 ? "" : ",").append(inLog(store.get(index)));
        }
        line("recovered", ",\"currTerm\":" + member.currTerm() + ",\"votedFor\":" + Json.text(member.currVoteFor())
                + node() + ",\"log\":[" + entries + "]");
    }

    public static void roleChanged(String method) {
        line("role", ",\"op\":\"" + method + "\",\"role\":\"" + member.getRole() + "\",\"term\":" + member.currTerm()
                + ",\"leaderId\":" + Json.text(member.getLeaderId()) + ",\"votedFor\":"
                + Json.text(member.currVoteFor()) + ",\"knownMaxTerm\":" + get(member, "knownMaxTermInGroup")
                + ",\"endIndex\":" + member.getLedgerEndIndex() + ",\"endTerm\":" + member.getLedgerEndTerm() + by());
    }

    // ---- The store ----

    public static long[] ends() {
        return new long[] {store.getLedgerEndIndex(), store.getCommittedIndex()};
    }

    /** The checkpoint was written; repeats are left out. */
    public static void checkPoint(long end, long committed) {
        LOCK.lock();
        try {
            long[] written = {end, committed};
            if (!Arrays.equals(written, lastCheckPoint)) {
                lastCheckPoint = written;
                line("checkpoint", ",\"endIndex\":" + end + ",\"committedIndex\":" + committed);
            }
        } finally {
            LOCK.unlock();
        }
    }

    static Object storeCall(String method, Object[] arguments, Callable<?> body) throws Exception {
        synchronized (member) {
            LOCK.lock();
            try {
                long[] ends = ends();
                String before = log();
                Throwable thrown = null;
                Object result = null;
                try {
                    result = body.call();
                } catch (Exception | Error error) {
                    thrown = error;
                }
                String how = ",\"op\":\"" + method + "\",\"ok\":" + (thrown == null)
                        + (thrown == null ? "" : ",\"err\":" + Json.text(thrown.getClass().getSimpleName()));
                String what = method.equals("updateCommittedIndex")
                        ? committed((Long) arguments[0], (Long) arguments[1], ends) : written(arguments);
                if (what != null) {
                    line("store", how + what + ",\"pre\":" + before + ",\"st\":" + log() + by());
                }
                if (thrown instanceof Error) {
                    throw (Error) thrown;
                }
                if (thrown != null) {
                    throw (Exception) thrown;
                }
                return result;
            } finally {
                LOCK.unlock();
            }
        }
    }

    private static String written(Object[] arguments) {
        String leader = arguments.length == 1 ? ""
                : ",\"leaderTerm\":" + arguments[1] + ",\"leaderId\":" + Json.text((String) arguments[2]);
        return entry((DLedgerEntry) arguments[0]) + leader;
    }

    /** The call's own fields; null where it changed nothing and says nothing new: the checker makes a thousand a second. */
    private static String committed(long term, long index, long[] before) {
        boolean moved = store.getCommittedIndex() != before[1];
        String noop = "";
        if (!moved) {
            if (!isRecovering && (index == -1 || before[0] == -1 || index == before[1])) {
                return null;
            }
            String reason = term < member.currTerm() ? "stale_term" : index < before[1] ? "lower" : "other";
            noop = ",\"noop\":\"" + reason + "\"";
            String unchanged = by() + term + "/" + index + "/" + before[0] + "/" + before[1];
            if (unchanged.contains("QuorumAckChecker")) {
                if (unchanged.equals(lastUnchanged)) {
                    return null;
                }
                lastUnchanged = unchanged;
            }
        }
        return noop + ",\"argTerm\":" + term + ",\"argIndex\":" + index + ",\"currTerm\":" + member.currTerm()
                + ",\"clamped\":" + (moved && store.getCommittedIndex() != index);
    }

    // ---- The leader ----

    public static void changeState(Object dispatcher, long index, PushEntryRequest.Type target) {
        LOCK.lock();
        try {
            line("dispatcher", ",\"op\":\"changeState\",\"peer\":" + Json.text((String) get(dispatcher, "peerId"))
                    + ",\"from\":\"" + get(dispatcher, "type") + "\",\"to\":\"" + target + "\",\"at\":" + index
                    + dispatcher(dispatcher) + by());
        } finally {
            LOCK.unlock();
        }
    }

    @SuppressWarnings("unchecked")
    static Object waterMark(Object pusher, String method, Object[] arguments, Callable<?> body) throws Exception {
        Map<Long, ConcurrentMap<String, Long>> byTerm =
                (Map<Long, ConcurrentMap<String, Long>>) get(pusher, "peerWaterMarksByTerm");
        Long term = (Long) arguments[0];
        synchronized (byTerm) {
            LOCK.lock();
            try {
                boolean isNew = !byTerm.containsKey(term);
                if (method.equals("checkTermForWaterMark")) {
                    Object result = body.call();
                    if (isNew) {
                        line("watermark", ",\"op\":\"init\",\"term\":" + term + marks(byTerm.get(term)) + by());
                    }
                    return result;
                }
                String peer = (String) arguments[1];
                long before = isNew ? -1 : byTerm.get(term).get(peer);
                Object result = body.call();
                long after = byTerm.get(term).get(peer);
                if (after != before) {
                    line("watermark", ",\"op\":\"put\",\"term\":" + term + ",\"peer\":" + Json.text(peer)
                            + ",\"index\":" + after + ",\"prev\":" + before + marks(byTerm.get(term)) + by());
                }
                return result;
            } finally {
                LOCK.unlock();
            }
        }
    }

    private static String marks(Map<String, Long> marks) {
        StringBuilder shown = new StringBuilder();
        new TreeMap<>(marks).forEach((peer, mark) ->
                shown.append(shown.length() == 0 ? "" : ",").append(Json.text(peer)).append(':').append(mark));
        return ",\"marks\":{" + shown + "}";
    }
}
