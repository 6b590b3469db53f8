package lockstep.recorder;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The file of a node's lines.
 *
 * <p>A line is in the file when it ends, with its effect, under LOCK. The file is mapped into memory, piece by piece: a
 * line is copied there, without a call of the system, and outlives the process, which may be killed at any moment. What
 * has been mapped and not been written yet is zero, so the text ends before the first zero. The first byte of a line is
 * written last, so no line is ever torn.
 *
 * <p>The file is opened before DLedger's classes are wrapped, and knows none of them: they would be loaded too early.
 */
public final class LineFile {
    /**
     * Lines are made, and what they show is changed, under this lock. Monitors of DLedger's are taken before it, never
     * after.
     */
    public static final ReentrantLock LOCK = new ReentrantLock();

    /** The bytes by which the file grows. */
    private static final int PIECE = 1 << 20;

    private static final Lines LINE = new Lines();
    private static FileChannel file;
    private static MappedByteBuffer piece;
    /** Where the text ends in the file. The piece's position is there. */
    private static long end;

    private LineFile() {}

    static void open(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw").getChannel();
        end = endOfText();
        file.truncate(end);
        if (end > 0 && read(end - 1, 1).get(0) != '\n') {
            end += file.write(ByteBuffer.wrap(new byte[] {'\n'}), end); // another program was cut as it wrote
        }
        grow(PIECE);
    }

    /** Returns where a process that was killed stopped: before the first zero, or at the end. */
    private static long endOfText() throws IOException {
        for (long begin = 0; begin < file.size(); begin += PIECE) {
            ByteBuffer read = read(begin, PIECE);
            for (int i = 0; i < read.limit(); i++) {
                if (read.get(i) == 0) {
                    return begin + i;
                }
            }
        }
        return file.size();
    }

    private static ByteBuffer read(long begin, int most) throws IOException {
        ByteBuffer read = ByteBuffer.allocate((int) Math.min(most, file.size() - begin));
        while (read.hasRemaining() && file.read(read, begin + read.position()) > 0) {
            // a read may return less than is there
        }
        return read.flip();
    }

    /** Maps zeros behind the text, which are written first: a full disk is an error then, and no signal later. */
    private static void grow(int size) throws IOException {
        file.write(ByteBuffer.allocate(size), end);
        piece = file.map(MapMode.READ_WRITE, end, size);
    }

    /** Begins a line; `end` ends it, and LOCK is held from before its effect until then. */
    static Lines begin() {
        return LINE.begin();
    }

    static void end(Lines line) {
        int length = line.end();
        try {
            if (piece == null) {
                file.write(line.buffer(), end);
            } else {
                if (piece.remaining() < length) {
                    grow(Math.max(PIECE, length));
                }
                int begin = piece.position();
                piece.position(begin + 1);
                piece.put(line.bytes(), 1, length - 1);
                VarHandle.storeStoreFence();
                piece.put(begin, line.bytes()[0]);
            }
        } catch (IOException error) {
            fail("cannot write", error);
        }
        end += length;
    }

    /** Ends the file where its text ends, as the process stops in order; lines that come later are written one by one. */
    static void trim() {
        LOCK.lock();
        try {
            piece = null;
            file.truncate(end);
        } catch (IOException error) {
            fail("cannot end the file", error);
        } finally {
            LOCK.unlock();
        }
    }

    /** Ends the process: it would go on unrecorded. */
    static void fail(String what, Throwable error) {
        System.err.println("recorder: " + what);
        error.printStackTrace();
        Runtime.getRuntime().halt(70);
    }
}
