import { SvcError } from '../../runtime/errors.ts';

/** Whatever can tell how a run stands: executions, workflows. */
interface Runs {
  status(tenant: string, id: string): Promise<{ readonly status: string }>;
}

const UNFINISHED = new Set(['pending', 'running', 'waiting_for_human_input']);

/** A run that is unknown has ended too: it was removed. */
export async function hasEnded(runs: Runs, tenant: string, id: string): Promise<boolean> {
  try {
    const { status } = await runs.status(tenant, id);
    return !UNFINISHED.has(status);
  } catch (thrown) {
    if (thrown instanceof SvcError && thrown.code === 'not_found') return true;
    throw thrown;
  }
}
