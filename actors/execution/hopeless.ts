/** Failures of an effect that no further iteration can fix: the manifest, the node's settings or rights must change. */
const HOPELESS: ReadonlySet<string> = new Set([
  'invalid_argument',
  'invalid_manifest',
  'invalid_config',
  'unauthenticated',
  'forbidden',
  'not_found',
  'failed_precondition',
  'payload_too_large',
  'unsupported_isolation',
  'unsupported_runtime',
  'unimplemented',
  'model_refused',
  'image_unavailable',
]);

export const isHopeless = (code: string): boolean => HOPELESS.has(code);

/** Depend on what is judged: the next output may be another one. */
const OF_THE_INPUT: ReadonlySet<string> = new Set(['invalid_argument', 'payload_too_large']);

/** Failures of a judge that no further attempt can fix, whatever it is asked to judge. */
export const isHopelessJudge = (code: string): boolean => isHopeless(code) && !OF_THE_INPUT.has(code);
