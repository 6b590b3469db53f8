package lockstep.recorder;

import static net.bytebuddy.matcher.ElementMatchers.isConstructor;
import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.namedOneOf;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.asm.Advice;
import net.bytebuddy.description.modifier.FieldPersistence;
import net.bytebuddy.description.modifier.Visibility;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.implementation.FieldAccessor;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.utility.JavaModule;

/**
 * Records a node of DLedger: java -javaagent:recorder.jar=FILE ...
 *
 * <p>The classes of DLedger stay as they are; their methods are wrapped as they are loaded, so the agent must be there
 * from the start. A class that cannot be wrapped ends the process: a recording with a part missing is none.
 */
public final class RecorderAgent {
    private static final String DLEDGER = "io.openmessaging.storage.dledger.";

    private RecorderAgent() {}

    public static void premain(String file, Instrumentation instrumentation) throws Exception {
        LineFile.open(Path.of(file));
        AgentBuilder agent = new AgentBuilder.Default().with(new EndOnError());
        agent = wrap(agent, "MemberState", builder -> builder
                .visit(Advice.to(Probes.MemberCreated.class).on(isConstructor()))
                .visit(Advice.to(Probes.RoleChanged.class).on(namedOneOf(
                        "changeToLeader", "changeToFollower", "changeToCandidate", "nextTerm", "setCurrVoteFor"))));
        agent = wrap(agent, "store.file.DLedgerMmapFileStore", builder -> builder
                .visit(Advice.to(Probes.StoreCreated.class).on(isConstructor()))
                .visit(Advice.to(Probes.CheckPoint.class).on(named("persistCheckPoint")))
                .visit(Advice.to(Probes.Recovery.class).on(named("recover")))
                .method(named("appendAsLeader")).intercept(MethodDelegation.to(Wrappers.AppendAsLeader.class))
                .method(named("appendAsFollower")).intercept(MethodDelegation.to(Wrappers.AppendAsFollower.class))
                .method(named("truncate").and(takesArguments(3)))
                .intercept(MethodDelegation.to(Wrappers.Truncate.class))
                .method(named("updateCommittedIndex"))
                .intercept(MethodDelegation.to(Wrappers.UpdateCommittedIndex.class)));
        agent = wrap(agent, "protocol.PushEntryRequest", builder -> builder
                .defineField("recordedName", String.class, Visibility.PRIVATE, FieldPersistence.TRANSIENT)
                .implement(RecordedPush.class).intercept(FieldAccessor.ofField("recordedName")));
        agent = wrap(agent, "DLedgerEntryPusher", builder -> builder
                .method(named("checkTermForWaterMark")).intercept(MethodDelegation.to(Wrappers.CheckTerm.class))
                .method(named("updatePeerWaterMark")).intercept(MethodDelegation.to(Wrappers.UpdateWaterMark.class)));
        agent = wrap(agent, "DLedgerEntryPusher$EntryDispatcher", builder -> builder
                .visit(Advice.to(Probes.ChangeState.class).on(named("changeState"))));
        agent = wrap(agent, "DLedgerEntryPusher$EntryHandler", builder -> builder
                .visit(Advice.to(Probes.HandlerCreated.class).on(isConstructor()))
                .visit(Advice.to(Probes.PushArrived.class).on(named("handlePush")))
                .visit(Advice.to(Probes.PushAnswered.class).on(named("buildResponse"))));
        agent = wrap(agent, "DLedgerRpcNettyService", builder -> builder
                .visit(Advice.to(Probes.FrameArrived.class).on(named("processRequest")))
                .method(named("push")).intercept(MethodDelegation.to(Wrappers.Push.class)));
        agent = wrap(agent, "DLedgerServer", builder -> builder
                .visit(Advice.to(Probes.Startup.class).on(named("startup")))
                .visit(Advice.to(Probes.Shutdown.class).on(named("shutdown"))));
        agent.type(named("org.apache.rocketmq.remoting.netty.NettyRemotingClient"))
                .transform((builder, type, loader, module, domain) ->
                        builder.visit(Advice.to(Probes.FrameSent.class).on(named("invokeAsync"))))
                .installOn(instrumentation);
    }

    private interface Wrapping {
        DynamicType.Builder<?> of(DynamicType.Builder<?> builder);
    }

    private static AgentBuilder wrap(AgentBuilder agent, String type, Wrapping wrapping) {
        return agent.type(named(DLEDGER + type))
                .transform((builder, description, loader, module, domain) -> wrapping.of(builder));
    }

    private static final class EndOnError extends AgentBuilder.Listener.Adapter {
        @Override
        public void onError(String type, ClassLoader loader, JavaModule module, boolean loaded, Throwable error) {
            LineFile.fail("cannot wrap " + type, error);
        }
    }
}
