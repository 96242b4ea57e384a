/**
 * Version of the rules under which a run that starts now works, of an agent or of a workflow. Its state keeps the number, so a
 * run keeps the rules that it started with (docs/decisions/0046-rules-of-a-run.md). 1: `fail`, JSON values of the built-ins,
 * members of JSON texts in templates, failures of templates as events, the run's workspace in Agent states and containers. 2: the
 * end of a state says what became of each of its transitions. 3: judges that no further attempt can ask end the run, or the
 * state, under the code of their error.
 */
export const RUN_RULES = 3;

/** Whether the run works under these rules or later ones. */
export const hasRules = ({ rules = 0 }: { readonly rules?: number | undefined }, least: number): boolean =>
  rules >= least;
