import { SvcError } from '../../runtime/errors.ts';
import type { ExecutionApi } from './api.ts';

/** An execution that is unknown has ended too: it was removed. */
export async function hasEnded(executions: ExecutionApi, tenant: string, id: string): Promise<boolean> {
  try {
    const { status } = await executions.status(tenant, id);
    return status !== 'running' && status !== 'pending';
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return true;
    throw thrown;
  }
}
