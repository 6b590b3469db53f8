package lockstep.recorder;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.invoke.VarHandle;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The file of a node's lines.
 *
 * <p>A line is in the file when it ends, with its effect, under LOCK. The file is mapped into memory, piece by piece: a
 * line is copied there, without a call of the system, and outlives the process, which may be killed at any moment. What
 * has been mapped and not been written yet is zero, so the text ends before the first zero. The first byte of a line is
 * written last, so none of it is text before all of it is. Once the process stops in order, lines are written one by
 * one.
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

    private static final byte[] ZEROS = new byte[PIECE];
    private static final Lines LINE = new Lines();
    private static RandomAccessFile file;
    /** Keeps another process from the file. */
    @SuppressWarnings({"unused", "FieldCanBeLocal"}) // it is held while this one lives
    private static FileLock fileLock;
    private static MappedByteBuffer piece;
    /** Where the text ends in the file. The piece's position is there. */
    private static long end;

    private LineFile() {}

    static void open(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw");
        fileLock = file.getChannel().tryLock();
        if (fileLock == null) {
            fail("cannot record", new IOException(path + ": another process records into this file"));
        }
        end = endOfText();
        if (goesOn()) {
            fail("cannot record", new IOException(path + ": lines stand after a zero byte: move this file away"));
        }
        file.setLength(end);
        if (end > 0 && byteAt(end - 1) != '\n') {
            write(new byte[] {'\n'}, 1); // another program was cut as it wrote
            end++;
        }
        grow(PIECE);
    }

    /** Returns where a process that was killed stopped: before the first zero, or at the end. */
    private static long endOfText() throws IOException {
        byte[] read = new byte[PIECE];
        file.seek(0);
        long begin = 0;
        for (int count = file.read(read); count > 0; count = file.read(read)) {
            for (int i = 0; i < count; i++) {
                if (read[i] == 0) {
                    return begin + i;
                }
            }
            begin += count;
        }
        return begin;
    }

    /** Returns whether more than a part of one line stands behind the text. */
    private static boolean goesOn() throws IOException {
        byte[] read = new byte[PIECE];
        boolean hasLine = false;
        file.seek(end);
        for (int count = file.read(read); count > 0; count = file.read(read)) {
            for (int i = 0; i < count; i++) {
                if (hasLine && read[i] != 0) {
                    return true;
                }
                hasLine |= read[i] == '\n';
            }
        }
        return false;
    }

    private static int byteAt(long place) throws IOException {
        file.seek(place);
        return file.read();
    }

    /** Writes behind the text, all or nothing but an error. */
    private static void write(byte[] bytes, int count) throws IOException {
        file.seek(end);
        file.write(bytes, 0, count);
    }

    /**
     * Maps zeros behind the text, which are written first: a full disk is an error then, and no signal later.
     *
     * <p>A thread that is interrupted closes the channel with which it maps, so that is done by one that nobody knows.
     */
    private static void grow(int size) throws IOException {
        file.seek(end);
        for (int left = size; left > 0; left -= PIECE) {
            file.write(ZEROS, 0, Math.min(left, PIECE));
        }
        piece = CompletableFuture.supplyAsync(() -> mapped(size), task -> new Thread(task, "recorder").start()).join();
    }

    private static MappedByteBuffer mapped(int size) {
        try {
            return file.getChannel().map(MapMode.READ_WRITE, end, size);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Begins a line; `end` ends it, and LOCK is held from before its effect until then. */
    static Lines begin() {
        return LINE.begin();
    }

    static void end(Lines line) {
        try {
            int length = line.end();
            if (piece == null) {
                write(line.bytes(), length);
            } else {
                copy(line.bytes(), length);
            }
            end += length;
        } catch (Throwable error) { // the process would go on unrecorded
            fail("cannot write", error);
        }
    }

    private static void copy(byte[] line, int length) throws IOException {
        if (piece.remaining() < length) {
            grow(Math.max(PIECE, length));
        }
        int begin = piece.position();
        piece.position(begin + 1);
        piece.put(line, 1, length - 1);
        VarHandle.storeStoreFence();
        piece.put(begin, line[0]);
    }

    /** Ends the file where its text ends, as the process stops in order. */
    static void trim() {
        LOCK.lock();
        try {
            piece = null;
            file.setLength(end);
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
