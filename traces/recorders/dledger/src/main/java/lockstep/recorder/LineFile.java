package lockstep.recorder;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The file of a node's lines. Each is one write, so that a process that is killed leaves whole lines.
 *
 * <p>It is opened before DLedger's classes are wrapped, and so knows none of them: they would be loaded too early.
 */
final class LineFile {
    private static FileChannel file;

    private LineFile() {}

    static void open(Path path) throws IOException {
        file = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        try (FileChannel written = FileChannel.open(path, StandardOpenOption.READ)) {
            ByteBuffer last = ByteBuffer.allocate(1);
            if (written.size() > 0 && written.read(last, written.size() - 1) == 1 && last.get(0) != '\n') {
                write(""); // a process died as it wrote its last line
            }
        }
    }

    static void write(String line) {
        try {
            ByteBuffer bytes = ByteBuffer.wrap((line + "\n").getBytes(StandardCharsets.UTF_8));
            if (file.write(bytes) < bytes.capacity()) {
                throw new IOException("a line was cut off");
            }
        } catch (IOException error) {
            fail("cannot write", error);
        }
    }

    /** Ends the process: it would go on unrecorded. */
    static void fail(String what, Throwable error) {
        System.err.println("recorder: " + what);
        error.printStackTrace();
        Runtime.getRuntime().halt(70);
    }
}
