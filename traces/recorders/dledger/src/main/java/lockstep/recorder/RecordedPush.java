package lockstep.recorder;

/** What the agent adds to a request of a push: the name that it has in lines, once it has arrived. */
public interface RecordedPush {
    String recordedName();

    void recordedName(String name);
}
