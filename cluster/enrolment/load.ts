import os from 'node:os';
import { memoryLimitBytes } from './capabilities.ts';

/** Load of the machine as a heartbeat tells it, percent from 0 to 100. */
export interface MachineLoad {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
}

/** A gauge of the machine: processor time is counted from one reading to the next, the first since this call. */
export function createLoadGauge(): () => MachineLoad {
  let last = processorTimes();
  return () => {
    const now = processorTimes();
    const total = now.total - last.total;
    const busy = now.busy - last.busy;
    // Two readings within one tick of the system's counters: say what is known, nothing.
    if (total > 0) last = now;
    return {
      cpuPercent: total > 0 ? percent(busy / total) : 0,
      memoryPercent: percent(1 - process.availableMemory() / memoryLimitBytes()),
    };
  };
}

function processorTimes(): { readonly busy: number; readonly total: number } {
  let busy = 0;
  let total = 0;
  for (const { times } of os.cpus()) {
    busy += times.user + times.nice + times.sys + times.irq;
    total += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { busy, total };
}

const percent = (share: number): number => Math.min(100, Math.max(0, Math.round(share * 1_000) / 10));
