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

/** Depend on the judged output: the next one may pass. */
const OF_THE_INPUT: ReadonlySet<string> = new Set(['invalid_argument', 'payload_too_large']);

/** Whether no further attempt can fix this failure of a judge, whatever its input. */
export const isHopelessJudge = (code: string): boolean => isHopeless(code) && !OF_THE_INPUT.has(code);
