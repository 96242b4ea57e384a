/** A process with only a liveness port, to be killed or frozen. Arguments: node id, incarnation, port. Prints its port. */
import { startLivenessServer } from '../../cluster/failure-detector/liveness-server.ts';

const [node = '', incarnation = '', port = '0'] = process.argv.slice(2);
const server = await startLivenessServer({
  node,
  incarnation,
  host: '127.0.0.1',
  port: Number(port),
  warn: (message, error) => console.error(message, error),
});
process.send?.(server.port);
// The process that started it has ended.
process.once('disconnect', () => process.exit(0));
