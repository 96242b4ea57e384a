/** A process with nothing but a pulse, to be killed or frozen. Arguments: node id, incarnation, port. Tells its port. */
import { startPulseServer } from '../../cluster/pulse/pulse-server.ts';

const [node = '', incarnation = '', port = '0'] = process.argv.slice(2);
const server = await startPulseServer({
  node,
  incarnation,
  host: '127.0.0.1',
  port: Number(port),
  warn: (message, error) => console.error(message, error),
});
process.send?.(server.port);
// Whoever started it is gone.
process.once('disconnect', () => process.exit(0));
