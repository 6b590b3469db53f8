package lockstep.recorder;

import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.protocol.PushEntryRequest;
import io.openmessaging.storage.dledger.protocol.PushEntryResponse;
import io.openmessaging.storage.dledger.store.file.DLedgerMmapFileStore;
import net.bytebuddy.asm.Advice;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/**
 * What is copied into methods of DLedger, before or after their own code.
 *
 * <p>No parameter is of a class that is wrapped: these classes are looked at while that one is being loaded.
 */
public final class Probes {
    private Probes() {}

    public static final class MemberCreated {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object member) {
            Recorder.member = (MemberState) member;
        }
    }

    public static final class StoreCreated {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object store) {
            Recorder.store = (DLedgerMmapFileStore) store;
        }
    }

    /** The methods are synchronized: within, nobody else changes the member, and with the lock nobody writes. */
    public static final class RoleChanged {
        @Advice.OnMethodEnter
        static void enter() {
            LineFile.LOCK.lock();
        }

        @Advice.OnMethodExit(onThrowable = Throwable.class)
        static void exit(@Advice.Origin("#m") String method, @Advice.Thrown Throwable thrown)
                throws IllegalAccessException {
            try {
                if (thrown == null) {
                    Recorder.roleChanged(method);
                }
            } finally {
                LineFile.LOCK.unlock();
            }
        }
    }

    public static final class CheckPoint {
        @Advice.OnMethodEnter
        static long[] enter() {
            return Recorder.ends();
        }

        @Advice.OnMethodExit
        static void exit(@Advice.Enter long[] ends) {
            Recorder.checkPoint(ends[0], ends[1]);
        }
    }

    public static final class Recovery {
        @Advice.OnMethodEnter
        static void enter() {
            Recorder.isRecovering = true;
        }

        @Advice.OnMethodExit
        static void exit() {
            Recorder.isRecovering = false;
            Recorder.recovered();
        }
    }

    public static final class ChangeState {
        @Advice.OnMethodEnter
        static void enter(@Advice.This Object dispatcher, @Advice.Argument(0) long index,
                @Advice.Argument(1) PushEntryRequest.Type target) throws IllegalAccessException {
            LeaderLines.changeState(dispatcher, index, target);
        }
    }

    public static final class HandlerCreated {
        @Advice.OnMethodExit
        static void exit(@Advice.This Object handler) {
            RecordedQueues.replaceQueues(handler);
        }
    }

    public static final class PushArrived {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(0) Object request) {
            Pushes.arrived(request);
        }
    }

    public static final class PushAnswered {
        @Advice.OnMethodExit
        static void exit(@Advice.Argument(0) Object request, @Advice.Return PushEntryResponse response) {
            Pushes.answered(request, response);
        }
    }

    public static final class FrameArrived {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(1) RemotingCommand command) {
            Pushes.OPAQUE.set(command.getOpaque());
        }
    }

    public static final class FrameSent {
        @Advice.OnMethodEnter
        static void enter(@Advice.Argument(1) RemotingCommand command) {
            Pushes.sent(command.getOpaque());
        }
    }

    public static final class Startup {
        @Advice.OnMethodEnter
        static void enter() {
            Recorder.started();
        }
    }

    public static final class Shutdown {
        @Advice.OnMethodEnter
        static void enter() {
            Recorder.life("stopping");
        }

        @Advice.OnMethodExit
        static void exit() {
            Recorder.life("stop");
            LineFile.trim();
        }
    }
}
