package lockstep.recorder;

import static lockstep.recorder.LineFile.LOCK;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import io.openmessaging.storage.dledger.protocol.PushEntryResponse;
import java.util.List;
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

    /** Gives a request, which has arrived, its name. */
    private static void name(PushEntryRequest request, String name) {
        ((RecordedPush) (Object) request).recordedName(name);
    }

    static String name(PushEntryRequest request) {
        return ((RecordedPush) (Object) request).recordedName();
    }

    static Lines mid(Lines line, PushEntryRequest request) {
        return line.raw(",\"mid\":").text(name(request));
    }

    /** The bodies that a push has, as lines show them. */
    private static byte[][] shown(PushEntryRequest request) {
        if (request.isBatch()) {
            List<DLedgerEntry> batch = request.getBatchEntry();
            byte[][] shown = new byte[batch.size()][];
            for (int i = 0; i < shown.length; i++) {
                shown[i] = Lines.shown(batch.get(i).getBody());
            }
            return shown;
        }
        DLedgerEntry entry = request.getEntry();
        return entry == null ? new byte[0][] : new byte[][] {Lines.shown(entry.getBody())};
    }

    private static Lines push(Lines line, PushEntryRequest request, String name, byte[][] shown) {
        line.raw(",\"mid\":").text(name).raw(",\"type\":\"").raw(request.getType().name()).raw("\",\"leaderId\":")
                .text(request.getLeaderId()).raw(",\"remoteId\":").text(request.getRemoteId()).raw(",\"term\":")
                .number(request.getTerm());
        if (request.isBatch()) {
            line.raw(",\"index\":").number(request.getFirstEntryIndex()).raw(",\"count\":")
                    .number(request.getCount()).raw(",\"entries\":[");
            for (int i = 0; i < shown.length; i++) {
                Recorder.inLog(line.comma(i == 0), request.getBatchEntry().get(i), shown[i]);
            }
            line.raw("]");
        } else if (request.getEntry() != null) {
            Recorder.entry(line, request.getEntry(), shown[0]);
        }
        return line.raw(",\"commitIndex\":").number(request.getCommitIndex());
    }

    private static Lines response(Lines line, PushEntryRequest.Type type, PushEntryResponse response) {
        line.raw(",\"type\":\"").raw(type.name()).raw("\",\"code\":\"")
                .raw(DLedgerResponseCode.valueOf(response.getCode()).name()).raw("\",\"term\":")
                .number(response.getTerm()).raw(",\"index\":");
        Long index = response.getIndex(); // none in the answer to a COMMIT
        return (index == null ? line.raw("null") : line.number(index)).raw(",\"count\":")
                .number(response.getCount()).raw(",\"beginIndex\":").number(response.getBeginIndex())
                .raw(",\"endIndex\":").number(response.getEndIndex());
    }

    // ---- At the leader ----

    @SuppressWarnings("unchecked")
    static Object called(Object push, Callable<?> body) throws Exception {
        Call call = new Call((PushEntryRequest) push);
        CALL.set(call);
        try {
            CompletableFuture<PushEntryResponse> answer = (CompletableFuture<PushEntryResponse>) body.call();
            call.request = null;
            return answer.thenApply(response -> {
                answerArrived(call, response);
                return response;
            });
        } finally {
            CALL.set(null);
        }
    }

    /** The frame of this thread's push goes out. */
    public static void sent(int opaque) {
        Call call = CALL.get();
        if (call == null || call.name != null) {
            return;
        }
        byte[][] shown = shown(call.request);
        LOCK.lock();
        try {
            call.name = Recorder.member.getSelfId() + "/" + opaque;
            Lines line = push(Recorder.begin("send_push"), call.request, call.name, shown);
            Recorder.end(Recorder.node(LeaderLines.dispatcher(line, call.dispatcher)));
        } catch (RuntimeException error) {
            LineFile.fail("cannot record a push", error); // DLedger would take it for an error of its own
        } finally {
            LOCK.unlock();
        }
    }

    private static void answerArrived(Call call, PushEntryResponse response) {
        LOCK.lock();
        try {
            if (response.getCode() == DLedgerResponseCode.NETWORK_ERROR.getCode()) {
                Recorder.end(Recorder.begin("net_error").raw(",\"mid\":").text(call.name)
                        .raw(",\"rpc\":\"push\",\"dst\":").text(call.peer).raw(",\"type\":\"").raw(call.type.name())
                        .raw("\",\"reason\":\"rpc_timeout\",\"gives\":\"NETWORK_ERROR\""));
            } else {
                Lines line = Recorder.begin("recv_resp_push").raw(",\"mid\":").text(call.name).raw(",\"from\":")
                        .text(call.peer);
                Recorder.end(LeaderLines.dispatcher(response(line, call.type, response), call.dispatcher));
            }
        } catch (RuntimeException error) {
            LineFile.fail("cannot record an answer", error);
        } finally {
            LOCK.unlock();
        }
    }

    // ---- At the follower ----

    public static void arrived(Object push) {
        PushEntryRequest request = (PushEntryRequest) push;
        byte[][] shown = shown(request);
        String name = request.getLeaderId() + "/" + OPAQUE.get();
        name(request, name);
        LOCK.lock();
        try {
            Recorder.end(Recorder.node(push(Recorder.begin("recv_push"), request, name, shown)));
        } catch (RuntimeException error) {
            LineFile.fail("cannot record a push that arrives", error); // DLedger would take it for an error of its own
        } finally {
            LOCK.unlock();
        }
    }

    public static void answered(Object push, PushEntryResponse response) {
        PushEntryRequest request = (PushEntryRequest) push;
        LOCK.lock();
        try {
            Lines line = mid(Recorder.begin("resp_push"), request).raw(",\"to\":").text(request.getLeaderId());
            Recorder.end(Recorder.by(Recorder.node(response(line, request.getType(), response))));
        } catch (RuntimeException error) {
            LineFile.fail("cannot record an answer", error); // DLedger would take it for an error of its own
        } finally {
            LOCK.unlock();
        }
    }
}
