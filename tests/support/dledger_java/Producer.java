import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/** A producer of RocketMQ: Producer NAME_SERVER PREFIX COUNT SECONDS; ends with 0 once so many messages are confirmed. */
public final class Producer {
    private Producer() {}

    public static void main(String[] words) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("producers");
        producer.setNamesrvAddr(words[0]);
        producer.setSendMsgTimeout(5_000);
        producer.start();
        int left = Integer.parseInt(words[2]);
        long end = System.nanoTime() + Long.parseLong(words[3]) * 1_000_000_000L;
        while (left > 0 && System.nanoTime() < end) {
            try {
                Message message = new Message("topic", (words[1] + left).getBytes("UTF-8"));
                left -= producer.send(message).getSendStatus() == SendStatus.SEND_OK ? 1 : 0;
            } catch (Exception error) {
                System.out.println(error); // no broker leads yet, or its answer was lost
                Thread.sleep(1_000);
            }
        }
        System.exit(left == 0 ? 0 : 1); // its threads would keep the process
    }
}
