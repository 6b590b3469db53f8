package lockstep.recorder;

import static lockstep.recorder.LineFile.LOCK;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import java.util.concurrent.Callable;

/**
 * Calls of the store.
 *
 * <p>DLedger takes the monitor of its member within them, so it is taken before LOCK here.
 */
final class StoreCalls {
    private static String lastUnchanged = "";

    private StoreCalls() {}

    static Object write(String method, DLedgerEntry entry, long leaderTerm, String leaderId, Callable<?> body)
            throws Exception {
        byte[] shown = Lines.shown(entry.getBody());
        // A hook may write into the body as it is stored, but for that of the entry: RocketMQ's broker puts its place in.
        boolean isHooked = method.equals("appendAsLeader") && !Recorder.store.appendHooks.isEmpty();
        return recorded(body, (before, thrown) -> {
            byte[] stored = isHooked && thrown == null ? stored(entry) : shown;
            Lines line = Recorder.entry(begin(method, thrown), entry, stored);
            if (!method.equals("appendAsLeader")) {
                line.raw(",\"leaderTerm\":").number(leaderTerm).raw(",\"leaderId\":").text(leaderId);
            }
            end(line, before);
        });
    }

    private static byte[] stored(DLedgerEntry entry) {
        return Lines.shown(Recorder.store.get(entry.getIndex()).getBody());
    }

    static void commit(long term, long index, Callable<?> body) throws Exception {
        if (isNothing(index)) {
            return;
        }
        recorded(body, (before, thrown) -> {
            if (Recorder.isStarted) {
                committed(term, index, before, thrown);
            }
        });
    }

    /** Makes the line of a call once it has ended, by the log before it and what it has thrown, which may be null. */
    private interface Ending {
        void record(Recorder.Log before, Throwable thrown);
    }

    private static Object recorded(Callable<?> body, Ending ending) throws Exception {
        synchronized (Recorder.member) {
            LOCK.lock();
            try {
                Recorder.Log before = new Recorder.Log();
                Throwable thrown = null;
                try {
                    return body.call();
                } catch (Exception | Error error) {
                    thrown = error;
                    throw error;
                } finally {
                    ending.record(before, thrown);
                }
            } finally {
                LOCK.unlock();
            }
        }
    }

    /**
     * Whether DLedger, which asks the same first, would do nothing: the QuorumAckChecker makes a thousand such calls a
     * second, which have no line. The call then ends here, so that what is asked twice cannot be answered differently.
     */
    private static boolean isNothing(long index) {
        return !Recorder.isRecovering && (index == -1 || Recorder.store.getLedgerEndIndex() == -1
                || index == Recorder.store.getCommittedIndex());
    }

    /** Makes the line of updateCommittedIndex, unless it has changed nothing and the line would say nothing new. */
    private static void committed(long term, long index, Recorder.Log before, Throwable thrown) {
        long now = Recorder.store.getCommittedIndex();
        boolean moved = now != before.committed;
        String noop = null;
        if (!moved) {
            if (!Recorder.isRecovering && (index == -1 || before.end == -1 || index == before.committed)) {
                return;
            }
            noop = term < Recorder.member.currTerm() ? "stale_term" : index < before.committed ? "lower" : "other";
            String unchanged = Recorder.by() + term + "/" + index + "/" + before.end + "/" + before.committed;
            if (unchanged.contains("QuorumAckChecker")) {
                if (unchanged.equals(lastUnchanged)) {
                    return;
                }
                lastUnchanged = unchanged;
            }
        }
        Lines line = begin("updateCommittedIndex", thrown);
        if (noop != null) {
            line.raw(",\"noop\":\"").raw(noop).raw("\"");
        }
        line.raw(",\"argTerm\":").number(term).raw(",\"argIndex\":").number(index).raw(",\"currTerm\":")
                .number(Recorder.member.currTerm()).raw(",\"clamped\":").flag(moved && now != index);
        end(line, before);
    }

    private static Lines begin(String method, Throwable thrown) {
        Lines line = Recorder.begin("store").raw(",\"op\":\"").raw(method).raw("\",\"ok\":").flag(thrown == null);
        return thrown == null ? line : line.raw(",\"err\":").text(thrown.getClass().getSimpleName());
    }

    private static void end(Lines line, Recorder.Log before) {
        before.addTo(line.raw(",\"pre\":{"));
        new Recorder.Log().addTo(line.raw(",\"st\":{"));
        Recorder.end(Recorder.by(line));
    }
}
