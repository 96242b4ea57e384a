import type { Runtime } from '../../runtime/runtime.ts';
import type { NodeControls } from './node-controls.ts';

/** Whether new calls should come here, and if not, why (/health/ready, the gRPC health service). */
export function readiness(
  runtime: Pick<Runtime, 'ready' | 'unread'>,
  controls: Pick<NodeControls, 'draining'>,
): { readonly ready: true } | { readonly ready: false; readonly why: string } {
  if (controls.draining) return { ready: false, why: 'the node drains' };
  const unread = runtime.unread();
  if (unread.length > 0) return { ready: false, why: `messages wait unread in ${unread.length} partitions` };
  if (runtime.ready()) return { ready: true };
  return { ready: false, why: 'the node holds no lease: the store does not answer, or another process has its id' };
}
