package lockstep.recorder;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import io.openmessaging.storage.dledger.protocol.PushEntryResponse;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;

/**
 * The lines of pushes: where they are sent, arrive, are answered, and where the answer arrives.
 *
 * <p>A push is named by its sender and the number of its frame, which counts from 0 when a process starts.
 */
public final class Pushes {
    /** The number of the frame that this thread handles. */
    public static final ThreadLocal<Integer> OPAQUE = new ThreadLocal<>();

    private static final ThreadLocal<Call> CALL = new ThreadLocal<>();
    private static final Map<PushEntryRequest, String> NAMES = Collections.synchronizedMap(new WeakHashMap<>());

    private Pushes() {}

    /** A push that this node makes. A batch is built in a request that is used again, so it is read as it is sent. */
    private static final class Call {
        private PushEntryRequest request;
        private final Object dispatcher = Thread.currentThread();
        private final String peer;
        private final PushEntryRequest.Type type;
        private String name;

        Call(PushEntryRequest request) {
            this.request = request;
            peer = request.getRemoteId();
            type = request.getType();
        }
    }

    static String name(PushEntryRequest request) {
        return ",\"mid\":" + Json.text(NAMES.get(request));
    }

    private static String push(PushEntryRequest request, String name) {
        StringBuilder entries = new StringBuilder();
        if (request.isBatch()) {
            for (DLedgerEntry entry : request.getBatchEntry()) {
                entries.append(entries.length() == 0 ? "" : ",").append(Recorder.inLog(entry));
            }
            entries.insert(0, ",\"index\":" + request.getFirstEntryIndex() + ",\"count\":" + request.getCount()
                    + ",\"entries\":[").append(']');
        } else if (request.getEntry() != null) {
            entries.append(Recorder.entry(request.getEntry()));
        }
        return ",\"mid\":" + Json.text(name) + ",\"type\":\"" + request.getType() + "\",\"leaderId\":"
                + Json.text(request.getLeaderId()) + ",\"remoteId\":" + Json.text(request.getRemoteId())
                + ",\"term\":" + request.getTerm() + entries + ",\"commitIndex\":" + request.getCommitIndex();
    }

    private static String response(PushEntryRequest.Type type, PushEntryResponse response) {
        return ",\"type\":\"" + type + "\",\"code\":\"" + DLedgerResponseCode.valueOf(response.getCode()).name()
                + "\",\"term\":" + response.getTerm() + ",\"index\":" + response.getIndex() + ",\"count\":"
                + response.getCount() + ",\"beginIndex\":" + response.getBeginIndex() + ",\"endIndex\":"
                + response.getEndIndex();
    }

    // ---- At the leader ----

    static Object called(PushEntryRequest request, Callable<CompletableFuture<PushEntryResponse>> body)
            throws Exception {
        Call call = new Call(request);
        CALL.set(call);
        try {
            CompletableFuture<PushEntryResponse> answer = body.call();
            call.request = null;
            return answer.thenApply(response -> {
                answerArrived(call, response);
                return response;
            });
        } finally {
            CALL.remove();
        }
    }

    /** The frame of this thread's push goes out. */
    public static void sent(int opaque) {
        Call call = CALL.get();
        if (call == null || call.name != null) {
            return;
        }
        Recorder.LOCK.lock();
        try {
            call.name = Recorder.member.getSelfId() + "/" + opaque;
            Recorder.line("send_push", push(call.request, call.name) + Recorder.dispatcher(call.dispatcher)
                    + Recorder.node());
        } finally {
            Recorder.LOCK.unlock();
        }
    }

    private static void answerArrived(Call call, PushEntryResponse response) {
        try {
            if (response.getCode() == DLedgerResponseCode.NETWORK_ERROR.getCode()) {
                Recorder.line("net_error", ",\"mid\":" + Json.text(call.name) + ",\"rpc\":\"push\",\"dst\":"
                        + Json.text(call.peer) + ",\"type\":\"" + call.type
                        + "\",\"reason\":\"rpc_timeout\",\"gives\":\"NETWORK_ERROR\"");
            } else {
                Recorder.line("recv_resp_push", ",\"mid\":" + Json.text(call.name) + ",\"from\":"
                        + Json.text(call.peer) + response(call.type, response) + Recorder.dispatcher(call.dispatcher));
            }
        } catch (RuntimeException error) {
            LineFile.fail("cannot record an answer", error);
        }
    }

    // ---- At the follower ----

    public static void arrived(PushEntryRequest request) {
        Recorder.LOCK.lock();
        try {
            String name = request.getLeaderId() + "/" + OPAQUE.get();
            NAMES.put(request, name);
            Recorder.line("recv_push", push(request, name) + Recorder.node());
        } finally {
            Recorder.LOCK.unlock();
        }
    }

    public static void answered(PushEntryRequest request, PushEntryResponse response) {
        Recorder.LOCK.lock();
        try {
            Recorder.line("resp_push", name(request) + ",\"to\":" + Json.text(request.getLeaderId())
                    + response(request.getType(), response) + Recorder.node() + Recorder.by());
        } finally {
            Recorder.LOCK.unlock();
        }
    }
}
