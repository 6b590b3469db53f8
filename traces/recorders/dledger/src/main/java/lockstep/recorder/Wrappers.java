package lockstep.recorder;

import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import io.openmessaging.storage.dledger.protocol.PushEntryResponse;
import java.lang.reflect.Method;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import net.bytebuddy.implementation.bind.annotation.AllArguments;
import net.bytebuddy.implementation.bind.annotation.Argument;
import net.bytebuddy.implementation.bind.annotation.Origin;
import net.bytebuddy.implementation.bind.annotation.RuntimeType;
import net.bytebuddy.implementation.bind.annotation.SuperCall;
import net.bytebuddy.implementation.bind.annotation.This;

/** What is called in place of methods of DLedger, and calls them. */
public final class Wrappers {
    private Wrappers() {}

    public static final class StoreCall {
        @RuntimeType
        public static Object call(@Origin Method method, @AllArguments Object[] arguments, @SuperCall Callable<?> body)
                throws Exception {
            return Recorder.storeCall(method.getName(), arguments, body);
        }
    }

    public static final class WaterMark {
        @RuntimeType
        public static Object call(@This Object pusher, @Origin Method method, @AllArguments Object[] arguments,
                @SuperCall Callable<?> body) throws Exception {
            return Recorder.waterMark(pusher, method.getName(), arguments, body);
        }
    }

    public static final class Push {
        @RuntimeType
        public static Object call(@Argument(0) PushEntryRequest request,
                @SuperCall Callable<CompletableFuture<PushEntryResponse>> body) throws Exception {
            return Pushes.called(request, body);
        }
    }
}
