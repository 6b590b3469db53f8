package lockstep.recorder;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The file of a node's lines.
 *
 * <p>A line is made with its effect, under LOCK, and goes into the file with those made before it, in one write: before
 * anything that follows from it leaves the node (`flush`), and otherwise within some milliseconds. Lines stand in the
 * file in the order in which they were made, and a process that is killed tears the last one at most.
 *
 * <p>The file is opened before DLedger's classes are wrapped, and knows none of them: they would be loaded too early.
 */
public final class LineFile {
    /**
     * Lines are made, and what they show is changed, under this lock. Monitors of DLedger's are taken before it, never
     * after; so is the lock of those who write.
     */
    public static final ReentrantLock LOCK = new ReentrantLock();

    /** The time in milliseconds after which lines are written that nothing waits for. */
    private static final long WAITS = 5;

    private static final ReentrantLock WRITING = new ReentrantLock();
    private static FileOutputStream file;
    /** What lines are added to, under LOCK; what is being written, under WRITING. */
    private static Lines open = new Lines();
    private static Lines spare = new Lines();
    /** The numbers of lines that were made, and that are in the file. */
    private static volatile long made;
    private static volatile long written;

    private LineFile() {}

    static void open(Path path) throws IOException {
        boolean isTorn = false;
        if (Files.exists(path)) {
            try (RandomAccessFile before = new RandomAccessFile(path.toFile(), "r")) {
                before.seek(Math.max(0, before.length() - 1));
                int last = before.read();
                isTorn = last != -1 && last != '\n';
            }
        }
        file = new FileOutputStream(path.toFile(), true);
        if (isTorn) {
            file.write('\n'); // a process died as it wrote its last line
        }
        Thread writer = new Thread(LineFile::writeAlways, "recorder");
        writer.setDaemon(true);
        writer.start();
    }

    /** Begins a line; `end` ends it, and LOCK is held from before its effect until then. */
    static Lines begin() {
        return open.begin();
    }

    @SuppressWarnings("NonAtomicOperationOnVolatileField") // written under LOCK only
    static void end(Lines line) {
        line.endLine();
        made++;
    }

    /**
     * Returns when all lines made so far are in the file. A thread that holds LOCK changes something still, and flushes
     * when it has let go.
     */
    public static void flush() {
        long upTo = made;
        if (written >= upTo || LOCK.isHeldByCurrentThread()) {
            return;
        }
        WRITING.lock();
        try {
            if (written < upTo) {
                write();
            }
        } catch (IOException error) {
            fail("cannot write", error);
        } finally {
            WRITING.unlock();
        }
    }

    private static void write() throws IOException {
        Lines full;
        long last;
        LOCK.lock();
        try {
            full = open;
            open = spare;
            last = made;
        } finally {
            LOCK.unlock();
        }
        file.write(full.bytes(), 0, full.end());
        full.clear();
        spare = full;
        written = last;
    }

    private static void writeAlways() {
        try {
            while (true) {
                Thread.sleep(WAITS);
                flush();
            }
        } catch (InterruptedException error) {
            fail("was interrupted", error);
        }
    }

    /** Ends the process: it would go on unrecorded. */
    static void fail(String what, Throwable error) {
        System.err.println("recorder: " + what);
        error.printStackTrace();
        Runtime.getRuntime().halt(70);
    }
}
