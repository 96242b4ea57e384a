/** How many executions of an agent or workflow have not ended. Another area knows it (main.ts joins them). */
export interface InUse {
  /** `tenant` null: of all tenants, for what is global. */
  agent(tenant: string | null, id: string): Promise<number>;
  workflow(tenant: string | null, id: string): Promise<number>;
}

/** Where nothing runs: tests, tools without a runtime. */
export const NOT_IN_USE: InUse = { agent: () => Promise.resolve(0), workflow: () => Promise.resolve(0) };
