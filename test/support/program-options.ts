/** Environment with the compiled modules, so that a program is up in half the time: tests start hundreds. */
export const COMPILED = { NODE_COMPILE_CACHE: new URL('../../.cache/compiled', import.meta.url).pathname } as const;
/**
 * Loading the product fills the young generation of its default size several times: a tenth of a start's processor time.
 * Then the old one grows past its first limit and is marked, another tenth in a program that lives for seconds.
 */
const ROOMY_HEAP = ['--min-semi-space-size=32', '--max-semi-space-size=32', '--initial-old-space-size=256'];
/**
 * A program that lives for seconds pays for optimised code and seldom runs it. At ten times the calls of V8's own limits it
 * is made for the few functions that are hot in any test: a node takes a tenth to a seventh less processor time.
 */
const LATE_OPTIMISING = ['--invocation-count-for-maglev=4000', '--invocation-count-for-turbofan=40000'];
/** Options of Node.js, for test files and the programs that they start. */
export const SHORT_LIVED = [...ROOMY_HEAP, ...LATE_OPTIMISING];
