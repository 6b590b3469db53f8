package lockstep.recorder;

import static lockstep.recorder.LineFile.LOCK;

import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import io.openmessaging.storage.dledger.utils.Pair;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** The two queues of an EntryHandler, which write a line for each request that enters or leaves. */
public final class RecordedQueues {
    private RecordedQueues() {}

    /** Gives a handler, which has just been made, queues of the same kind that record. */
    public static void replaceQueues(Object handler) {
        try {
            Field writes = Recorder.field(handler, "writeRequestMap");
            writes.set(handler, new WriteRequests());
            Field control = Recorder.field(handler, "compareOrTruncateRequests");
            int capacity = ((BlockingQueue<?>) control.get(handler)).remainingCapacity();
            control.set(handler, new ControlRequests(capacity));
        } catch (IllegalAccessException error) {
            LineFile.fail("cannot replace the queues", error);
        }
    }

    private static PushEntryRequest request(Object pair) {
        return (PushEntryRequest) ((Pair<?, ?>) pair).getKey();
    }

    private static final class WriteRequests extends ConcurrentHashMap<Object, Object> {
        private static final long serialVersionUID = 1;

        @Override
        public Object putIfAbsent(Object index, Object pair) {
            LOCK.lock();
            try {
                Object before = super.putIfAbsent(index, pair);
                Lines line = Recorder.begin("handler").raw(",\"op\":\"").raw(before == null ? "enqueue" : "repeated")
                        .raw("\",\"q\":\"write\"");
                Pushes.mid(line, request(pair)).raw(",\"index\":").number((Long) index);
                Recorder.end(line.raw(",\"size\":").number(size()));
                return before;
            } finally {
                LOCK.unlock();
            }
        }

        @Override
        public Object remove(Object index) {
            LOCK.lock();
            try {
                Object pair = super.remove(index);
                if (pair != null) {
                    boolean done = ((CompletableFuture<?>) ((Pair<?, ?>) pair).getValue()).isDone();
                    Lines line = Recorder.begin("handler").raw(",\"op\":\"take\",\"q\":\"write\"");
                    Pushes.mid(line, request(pair)).raw(",\"index\":").number((Long) index).raw(",\"reqTerm\":")
                            .number(request(pair).getTerm());
                    Recorder.end(Recorder.node(line).raw(",\"done\":").flag(done));
                }
                return pair;
            } finally {
                LOCK.unlock();
            }
        }

        @Override
        public void clear() {
            LOCK.lock();
            try {
                boolean isFirst = true;
                Lines line = Recorder.begin("handler").raw(",\"op\":\"clear\",\"q\":\"write\",\"lost\":[");
                for (Map.Entry<Object, Object> each : entrySet()) {
                    line.comma(isFirst).raw("[").number((Long) each.getKey()).raw(",")
                            .text(Pushes.name(request(each.getValue()))).raw("]");
                    isFirst = false;
                }
                if (!isFirst) {
                    Recorder.end(line.raw("]"));
                }
                super.clear();
            } finally {
                LOCK.unlock();
            }
        }
    }

    private static final class ControlRequests extends ArrayBlockingQueue<Object> {
        private static final long serialVersionUID = 1;

        ControlRequests(int capacity) {
            super(capacity);
        }

        private static void enters(Object pair) {
            LOCK.lock();
            try {
                Lines line = Recorder.begin("handler").raw(",\"op\":\"enqueue\",\"q\":\"ctrl\"");
                Recorder.end(type(Pushes.mid(line, request(pair)), pair));
            } finally {
                LOCK.unlock();
            }
        }

        private static Lines type(Lines line, Object pair) {
            return line.raw(",\"type\":\"").raw(request(pair).getType().name()).raw("\"");
        }

        @Override
        public void put(Object pair) throws InterruptedException {
            enters(pair);
            super.put(pair);
        }

        @Override
        public boolean offer(Object pair) {
            enters(pair);
            return super.offer(pair);
        }

        @Override
        public Object poll() {
            LOCK.lock();
            try {
                Object pair = super.poll();
                if (pair != null) {
                    Lines line = Recorder.begin("handler").raw(",\"op\":\"take\",\"q\":\"ctrl\"");
                    type(Pushes.mid(line, request(pair)), pair).raw(",\"reqTerm\":").number(request(pair).getTerm());
                    Recorder.end(Recorder.node(line));
                }
                return pair;
            } finally {
                LOCK.unlock();
            }
        }
    }
}
