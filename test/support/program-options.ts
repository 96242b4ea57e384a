/** Environment with the compiled modules, so that a program is up in half the time: tests start hundreds. */
export const COMPILED = { NODE_COMPILE_CACHE: new URL('../../.cache/compiled', import.meta.url).pathname } as const;
/** The old generation grows past its first limit and is marked: a tenth of the processor time of a program that lives for seconds. */
const ROOMY_OLD_SPACE = ['--initial-old-space-size=256'];
/** To load the product's modules fills the young generation of its default size several times: a tenth of a start's processor time. */
const ROOMY_YOUNG_SPACE = ['--min-semi-space-size=32', '--max-semi-space-size=32'];
/**
 * A program that lives for seconds pays for optimised code and seldom runs it. At ten times the calls of V8's own limits it
 * is made for the few functions that are hot in any test: a node takes a tenth to a seventh less processor time.
 */
const LATE_OPTIMISING = ['--invocation-count-for-maglev=4000', '--invocation-count-for-turbofan=40000'];
/** Options of Node.js for a script with its compiled code: there the larger young generation costs more than it saves. */
export const SHORT_LIVED_SCRIPT = [...ROOMY_OLD_SPACE, ...LATE_OPTIMISING];
/** Options of Node.js for test files and the other programs that they start. */
export const SHORT_LIVED = [...ROOMY_YOUNG_SPACE, ...SHORT_LIVED_SCRIPT];
