/**
 * How long and how much of something is kept, in the words of Kafka (`retention.ms`, `retention.bytes`): whichever comes
 * first. Null: without end.
 */
export interface RetentionRule {
  /** From its end on. */
  readonly retentionMs: number | null;
  /** Of one tenant; the oldest go first. */
  readonly retentionBytes: number | null;
}

/** Rules by what they apply to: `ledger`, `dead_letters`, and what actor definitions say in `retainedAs`. */
export type RetentionRules = Readonly<Record<string, RetentionRule>>;

export interface RetentionPolicy {
  ruleOf(tenant: string, thing: string): RetentionRule;
}

const WITHOUT_END: RetentionRule = { retentionMs: null, retentionBytes: null };

/** What a tenant's own rules say goes before `rules`, field by field; what has no rule is kept without end. */
export function retentionPolicy(
  rules: RetentionRules,
  tenants: ReadonlyMap<string, Readonly<Record<string, Partial<RetentionRule>>>> = new Map(),
): RetentionPolicy {
  return {
    ruleOf: (tenant, thing) => ({ ...WITHOUT_END, ...rules[thing], ...tenants.get(tenant)?.[thing] }),
  };
}
