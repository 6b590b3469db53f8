package lockstep.recorder;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.zip.Adler32;
import java.util.zip.CRC32;

/**
 * A line on its way to a node's file, as bytes: JSON is written where it will be copied from, with nothing in between.
 *
 * <p>One that an exception has cut short is overwritten by the next.
 */
public final class Lines {
    /** Bodies of more bytes are shown by their checksums. */
    static final int LONGEST_SHOWN = 64;

    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private byte[] bytes = new byte[1 << 10];
    private int at;

    // ---- The line ----

    byte[] bytes() {
        return bytes;
    }

    Lines begin() {
        at = 0;
        return this;
    }

    /** Ends the line, and returns its length in bytes. */
    int end() {
        put((byte) '\n');
        return at;
    }

    // ---- Its parts ----

    /** Adds a text of ASCII as it is. */
    @SuppressWarnings("deprecation") // the one copy of a String's bytes that makes no array
    Lines raw(String ascii) {
        int length = ascii.length();
        room(length);
        ascii.getBytes(0, length, bytes, at);
        at += length;
        return this;
    }

    Lines raw(byte[] ascii) {
        room(ascii.length);
        System.arraycopy(ascii, 0, bytes, at, ascii.length);
        at += ascii.length;
        return this;
    }

    Lines number(long number) {
        room(20);
        if (number == Long.MIN_VALUE) {
            return raw("-9223372036854775808");
        }
        long rest = number;
        if (rest < 0) {
            bytes[at++] = '-';
            rest = -rest;
        }
        int digits = 1;
        for (long bound = rest; bound >= 10; bound /= 10) {
            digits++;
        }
        for (int place = at + digits - 1; place >= at; place--) {
            bytes[place] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        at += digits;
        return this;
    }

    Lines flag(boolean flag) {
        return raw(flag ? "true" : "false");
    }

    /** Adds a text between quotes, null as such. */
    Lines text(String text) {
        if (text == null) {
            return raw("null");
        }
        put((byte) '"');
        return (isPlain(text) ? raw(text) : raw(escaped(text))).put((byte) '"');
    }

    /** Adds what `shown` made of a body. */
    Lines value(byte[] shown) {
        return put((byte) '"').raw(shown).put((byte) '"');
    }

    Lines comma(boolean isFirst) {
        return isFirst ? this : put((byte) ',');
    }

    private Lines put(byte one) {
        room(1);
        bytes[at++] = one;
        return this;
    }

    private void room(int more) {
        if (bytes.length - at < more) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, at + more));
        }
    }

    // ---- Texts and values ----

    private static byte[] escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\' || each < ' ') {
                escaped.append(String.format("\\u%04x", (int) each));
            } else {
                escaped.append(each);
            }
        }
        return escaped.toString().getBytes(StandardCharsets.UTF_8);
    }

    /**
     * The body of an entry as lines show it, in no quotes yet: its text; its bytes in hexadecimal where it is none; two
     * checksums of a long one, of 64 bits: each append has seven of them, and these take next to no time even in code
     * that is not compiled. It is made before the lock is taken.
     */
    static byte[] shown(byte[] body) {
        if (body.length > LONGEST_SHOWN) {
            CRC32 crc = new CRC32();
            crc.update(body, 0, body.length);
            Adler32 adler = new Adler32();
            adler.update(body, 0, body.length);
            long sums = crc.getValue() << 32 | adler.getValue();
            return hexadecimal("crc32+adler32:", ByteBuffer.allocate(Long.BYTES).putLong(sums).array(), Long.BYTES);
        }
        if (isPlain(body)) {
            return body;
        }
        try {
            return escaped(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
        } catch (CharacterCodingException error) {
            return hexadecimal("0x", body, body.length);
        }
    }

    private static boolean isPlain(String text) {
        for (int i = 0; i < text.length(); i++) {
            char each = text.charAt(i);
            if (each < ' ' || each > '~' || each == '"' || each == '\\') {
                return false;
            }
        }
        return true;
    }

    private static boolean isPlain(byte[] text) {
        for (byte each : text) {
            if (each < ' ' || each == '"' || each == '\\') { // bytes of other characters than ASCII's are negative
                return false;
            }
        }
        return true;
    }

    private static byte[] hexadecimal(String head, byte[] bytes, int count) {
        byte[] text = Arrays.copyOf(head.getBytes(StandardCharsets.US_ASCII), head.length() + 2 * count);
        for (int i = 0; i < count; i++) {
            text[head.length() + 2 * i] = HEX[bytes[i] >> 4 & 15];
            text[head.length() + 2 * i + 1] = HEX[bytes[i] & 15];
        }
        return text;
    }
}
