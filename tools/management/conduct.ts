/** How management tools run: all on the node that the call reaches. `mode` says what becomes of a call after a crash. */
const onNode = { runs: 'node' } as const;

/** Changes nothing, so it may be called again. */
export const reading = { ...onNode, mode: 'repeatable', reads: true } as const;

/** Changes what is there: whether it did is in doubt after a crash. */
export const changing = { ...onNode, mode: 'once', reads: false } as const;

/** What is started goes by the call's own id, so a call that is repeated after a crash starts nothing twice. */
export const starting = { ...onNode, mode: 'repeatable', reads: false } as const;
