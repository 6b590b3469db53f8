package lockstep.recorder;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentMap;
import net.bytebuddy.implementation.bind.annotation.Argument;
import net.bytebuddy.implementation.bind.annotation.FieldValue;
import net.bytebuddy.implementation.bind.annotation.RuntimeType;
import net.bytebuddy.implementation.bind.annotation.SuperCall;

/**
 * What is called in place of methods of DLedger, and calls them.
 *
 * <p>No parameter is of a class that is wrapped: these classes are looked at while that one is being loaded.
 */
public final class Wrappers {
    private Wrappers() {}

    public static final class AppendAsLeader {
        @RuntimeType
        public static Object call(@Argument(0) DLedgerEntry entry, @SuperCall Callable<?> body) throws Exception {
            return StoreCalls.write("appendAsLeader", entry, -1, null, body);
        }
    }

    public static final class AppendAsFollower {
        @RuntimeType
        public static Object call(@Argument(0) DLedgerEntry entry, @Argument(1) long leaderTerm,
                @Argument(2) String leaderId, @SuperCall Callable<?> body) throws Exception {
            return StoreCalls.write("appendAsFollower", entry, leaderTerm, leaderId, body);
        }
    }

    public static final class Truncate {
        @RuntimeType
        public static Object call(@Argument(0) DLedgerEntry entry, @Argument(1) long leaderTerm,
                @Argument(2) String leaderId, @SuperCall Callable<?> body) throws Exception {
            return StoreCalls.write("truncate", entry, leaderTerm, leaderId, body);
        }
    }

    public static final class UpdateCommittedIndex {
        public static void call(@Argument(0) long term, @Argument(1) long index, @SuperCall Callable<?> body)
                throws Exception {
            StoreCalls.commit(term, index, body);
        }
    }

    public static final class CheckTerm {
        public static void call(@FieldValue("peerWaterMarksByTerm") Map<Long, ConcurrentMap<String, Long>> byTerm,
                @Argument(0) long term, @SuperCall Callable<?> body) throws Exception {
            LeaderLines.checkTerm(byTerm, term, body);
        }
    }

    public static final class UpdateWaterMark {
        public static void call(@FieldValue("peerWaterMarksByTerm") Map<Long, ConcurrentMap<String, Long>> byTerm,
                @Argument(0) long term, @Argument(1) String peer, @Argument(2) long index,
                @SuperCall Callable<?> body) throws Exception {
            LeaderLines.update(byTerm, term, peer, index, body);
        }
    }

    public static final class Push {
        @RuntimeType
        public static Object call(@Argument(0) Object request, @SuperCall Callable<?> body) throws Exception {
            return Pushes.called(request, body);
        }
    }
}
