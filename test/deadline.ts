/**
 * Loaded into the process of each test file. `run({ timeout })` bounds tests, not files: one that left a server or a
 * connection open behind its last test would hold the whole run for ever. It ends as failed, and says what was open.
 */
import { after } from 'node:test';
import { writeTimeAtExit } from './support/file-times.ts';
import { sample } from './support/size.ts';

const MOST_MINUTES = sample({ normal: 12, long: 60 });
/** What closes by itself behind the last test has done so by then, on a busy machine too. */
const TO_CLOSE_SECONDS = 30;

function endUnlessDone(ms: number, late: string): void {
  setTimeout(() => {
    const open = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind));
    const said = open.map(([kind, all]) => `${all?.length} ${kind}`).join(', ');
    console.error(`${process.argv[1]}: not ended ${late}; still open: ${said || 'nothing'}`);
    process.exit(1);
  }, ms).unref();
}

endUnlessDone(MOST_MINUTES * 60_000, `after ${MOST_MINUTES} minutes`);
/** Called when the last test has ended. */
export function endUnlessClosed(): void {
  endUnlessDone(TO_CLOSE_SECONDS * 1_000, `${TO_CLOSE_SECONDS} s after its last test`);
}

// In a batch (support/batches.ts) the root has ended before its last file is loaded.
const isBatch = process.argv[1]?.includes('/batches/') === true;
if (!isBatch) after(endUnlessClosed);
writeTimeAtExit();
