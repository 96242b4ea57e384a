/**
 * Loaded into the process of each test file. `run({ timeout })` bounds tests, not files: a file that left a server or a
 * connection open after its last test would block the whole run. It ends as failed, and reports the open resources. The time
 * counts for each file of a batch: on a busy machine twenty files took longer than the longest one may.
 */
import { after } from 'node:test';
import { writeTimeAtExit } from './support/file-times.ts';
import { sample } from './support/size.ts';

const MOST_MINUTES = sample({ normal: 12, long: 60 });
/** Time in which everything that closes automatically after the last test has done so, on a busy machine too. */
const TO_CLOSE_SECONDS = 30;

function endUnlessDone(file: string | undefined, ms: number, late: string): NodeJS.Timeout {
  return setTimeout(() => {
    const open = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind));
    const said = open.map(([kind, all]) => `${all?.length} ${kind}`).join(', ');
    console.error(`${file}: not ended ${late}; still open: ${said || 'nothing'}`);
    process.exit(1);
  }, ms).unref();
}

let ofThisFile: NodeJS.Timeout | undefined;
/** Called when the process begins a file. */
export function endUnlessFileEnds(file: string | undefined): void {
  clearTimeout(ofThisFile);
  ofThisFile = endUnlessDone(file, MOST_MINUTES * 60_000, `after ${MOST_MINUTES} minutes`);
}

endUnlessFileEnds(process.argv[1]);
/** Called when the last test has ended. */
export function endUnlessClosed(): void {
  endUnlessDone(process.argv[1], TO_CLOSE_SECONDS * 1_000, `${TO_CLOSE_SECONDS} s after its last test`);
}

// In a batch (support/batches.ts) the root has ended before its last file is loaded.
const isBatch = process.argv[1]?.includes('/batches/') === true;
if (!isBatch) after(endUnlessClosed);
writeTimeAtExit();
