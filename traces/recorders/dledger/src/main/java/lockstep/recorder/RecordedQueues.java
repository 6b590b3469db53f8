package lockstep.recorder;

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
            Recorder.LOCK.lock();
            try {
                Object before = super.putIfAbsent(index, pair);
                Recorder.line("handler", ",\"op\":\"" + (before == null ? "enqueue" : "repeated") + "\",\"q\":\"write\""
                        + Pushes.name(request(pair)) + ",\"index\":" + index + ",\"size\":" + size());
                return before;
            } finally {
                Recorder.LOCK.unlock();
            }
        }

        @Override
        public Object remove(Object index) {
            Recorder.LOCK.lock();
            try {
                Object pair = super.remove(index);
                if (pair != null) {
                    boolean done = ((CompletableFuture<?>) ((Pair<?, ?>) pair).getValue()).isDone();
                    Recorder.line("handler", ",\"op\":\"take\",\"q\":\"write\"" + Pushes.name(request(pair))
                            + ",\"index\":" + index + ",\"reqTerm\":" + request(pair).getTerm() + Recorder.node()
                            + ",\"done\":" + done);
                }
                return pair;
            } finally {
                Recorder.LOCK.unlock();
            }
        }

        @Override
        public void clear() {
            Recorder.LOCK.lock();
            try {
                StringBuilder lost = new StringBuilder();
                for (Map.Entry<Object, Object> each : entrySet()) {
                    String name = Pushes.name(request(each.getValue())).split(":", 2)[1];
                    lost.append(lost.length() == 0 ? "" : ",").append("[" + each.getKey() + "," + name + "]");
                }
                if (lost.length() > 0) {
                    Recorder.line("handler", ",\"op\":\"clear\",\"q\":\"write\",\"lost\":[" + lost + "]");
                }
                super.clear();
            } finally {
                Recorder.LOCK.unlock();
            }
        }
    }

    private static final class ControlRequests extends ArrayBlockingQueue<Object> {
        private static final long serialVersionUID = 1;

        ControlRequests(int capacity) {
            super(capacity);
        }

        private static void enters(Object pair) {
            Recorder.line("handler", ",\"op\":\"enqueue\",\"q\":\"ctrl\"" + Pushes.name(request(pair))
                    + ",\"type\":\"" + request(pair).getType() + "\"");
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
            Recorder.LOCK.lock();
            try {
                Object pair = super.poll();
                if (pair != null) {
                    Recorder.line("handler", ",\"op\":\"take\",\"q\":\"ctrl\"" + Pushes.name(request(pair))
                            + ",\"type\":\"" + request(pair).getType() + "\",\"reqTerm\":" + request(pair).getTerm()
                            + Recorder.node());
                }
                return pair;
            } finally {
                Recorder.LOCK.unlock();
            }
        }
    }
}
