import { setFlagsFromString } from 'node:v8';

/** Effects that wait from which on the heap is kept small, and below which it is not any more. */
const MANY = 1_000;
const FEW = 500;

/** Most growth of the old generation until its next collection, %. */
const GROWTH = 12;

/** V8 decides, by the speed at which objects are made: up to four times what is in use. */
const AS_USUAL = 0;

/**
 * Makes V8 collect old objects earlier while many callers wait. They come within seconds, and each leaves garbage that V8 would keep
 * for as long as they wait: it collects when the heap has grown to a multiple of what was in use, and hardly at all while
 * little happens. V8 reads this option at the end of each collection, so one begins at once: the bound that the last one set
 * may be four times what is in use. The returned function takes the number of effects that wait.
 */
export function heapKeeper(
  setOption: (option: string) => void = setFlagsFromString,
  collect: () => void = beginCollection,
): (waiting: number) => void {
  let isSmall = false;
  return (waiting) => {
    if (isSmall ? waiting >= FEW : waiting < MANY) return;
    isSmall = !isSmall;
    setOption(`--heap-growing-percent=${isSmall ? GROWTH : AS_USUAL}`);
    if (isSmall) collect();
  };
}

/** V8 begins a collection in steps when memory outside of its heap has grown by 64 MB. */
const OUTSIDE_BYTES = 65 * 1024 ** 2;

/** Nothing touches this memory, so the process does not get it from the system. */
function beginCollection(): void {
  new ArrayBuffer(OUTSIDE_BYTES);
}
