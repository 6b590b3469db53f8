package lockstep.recorder;

import static lockstep.recorder.LineFile.LOCK;

import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentMap;

/** The lines of a leader's dispatchers and watermarks. */
public final class LeaderLines {
    private static volatile Dispatchers dispatchers;
    private static String[] members = {};

    private LeaderLines() {}

    // ---- Dispatchers ----

    /** The fields of an EntryDispatcher. */
    private static final class Dispatchers {
        private final Field type;
        private final Field peer;
        private final Field compareIndex;
        private final Field writeIndex;
        private final Field term;
        private final Field pending;
        private final Field pendingBatches;

        Dispatchers(Object dispatcher) {
            type = Recorder.field(dispatcher, "type");
            peer = Recorder.field(dispatcher, "peerId");
            compareIndex = Recorder.field(dispatcher, "compareIndex");
            writeIndex = Recorder.field(dispatcher, "writeIndex");
            term = Recorder.field(dispatcher, "term");
            pending = Recorder.field(dispatcher, "pendingMap");
            pendingBatches = Recorder.field(dispatcher, "batchPendingMap");
        }
    }

    private static Dispatchers fields(Object dispatcher) {
        if (dispatchers == null) {
            dispatchers = new Dispatchers(dispatcher);
        }
        return dispatchers;
    }

    static Lines dispatcher(Lines line, Object dispatcher) {
        Dispatchers of = fields(dispatcher);
        try {
            int pending = ((Map<?, ?>) of.pending.get(dispatcher)).size()
                    + ((Map<?, ?>) of.pendingBatches.get(dispatcher)).size();
            return line.raw(",\"disp\":{\"type\":\"").raw(of.type.get(dispatcher).toString())
                    .raw("\",\"compareIndex\":").number(of.compareIndex.getLong(dispatcher)).raw(",\"writeIndex\":")
                    .number(of.writeIndex.getLong(dispatcher)).raw(",\"term\":").number(of.term.getLong(dispatcher))
                    .raw(",\"pending\":").number(pending).raw("}");
        } catch (IllegalAccessException error) {
            throw new IllegalStateException(error);
        }
    }

    /** A dispatcher is about to change its type. */
    public static void changeState(Object dispatcher, long index, PushEntryRequest.Type target)
            throws IllegalAccessException {
        LOCK.lock();
        try {
            Dispatchers of = fields(dispatcher);
            Lines line = Recorder.begin("dispatcher").raw(",\"op\":\"changeState\",\"peer\":")
                    .text((String) of.peer.get(dispatcher)).raw(",\"from\":\"").raw(of.type.get(dispatcher).toString())
                    .raw("\",\"to\":\"").raw(target.name()).raw("\",\"at\":").number(index);
            Recorder.end(Recorder.by(dispatcher(line, dispatcher)));
        } finally {
            LOCK.unlock();
        }
    }

    // ---- Watermarks ----

    /** Calls checkTermForWaterMark, which does nothing where the term has watermarks. */
    static void checkTerm(Map<Long, ConcurrentMap<String, Long>> byTerm, Long term, Callable<?> body)
            throws Exception {
        if (byTerm.containsKey(term)) {
            return;
        }
        synchronized (byTerm) {
            LOCK.lock();
            try {
                boolean isNew = !byTerm.containsKey(term);
                body.call();
                if (isNew) {
                    Lines line = Recorder.begin("watermark").raw(",\"op\":\"init\",\"term\":").number(term);
                    Recorder.end(Recorder.by(marks(line, byTerm.get(term))));
                }
            } finally {
                LOCK.unlock();
            }
        }
    }

    /** Calls updatePeerWaterMark, which does nothing where the peer's is as high; it has the same monitor. */
    static void update(Map<Long, ConcurrentMap<String, Long>> byTerm, Long term, String peer, long index,
            Callable<?> body) throws Exception {
        synchronized (byTerm) {
            ConcurrentMap<String, Long> marks = byTerm.get(term);
            long before = marks == null ? -1 : marks.get(peer);
            if (marks != null && before >= index) {
                return;
            }
            LOCK.lock();
            try {
                body.call();
                marks = byTerm.get(term);
                long after = marks.get(peer);
                if (after != before) {
                    Lines line = Recorder.begin("watermark").raw(",\"op\":\"put\",\"term\":").number(term)
                            .raw(",\"peer\":").text(peer).raw(",\"index\":").number(after).raw(",\"prev\":")
                            .number(before);
                    Recorder.end(Recorder.by(marks(line, marks)));
                }
            } finally {
                LOCK.unlock();
            }
        }
    }

    /** Adds the watermarks, in the order of the members' names. */
    private static Lines marks(Lines line, Map<String, Long> marks) {
        if (members.length != marks.size()) {
            members = marks.keySet().toArray(new String[0]);
            Arrays.sort(members);
        }
        line.raw(",\"marks\":{");
        for (int i = 0; i < members.length; i++) {
            line.comma(i == 0).text(members[i]).raw(":").number(marks.get(members[i]));
        }
        return line.raw("}");
    }
}
