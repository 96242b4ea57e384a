/** How many executions of an agent or workflow have not ended. Another area knows it (main.ts joins them). */
export interface InUse {
  /** `tenant` is where it stands: the system's for a global one, whose executions may be of any tenant. */
  agent(tenant: string, id: string): Promise<number>;
  workflow(tenant: string, id: string): Promise<number>;
}

/** Where nothing runs: tests, tools without a runtime. */
export const NOT_IN_USE: InUse = { agent: () => Promise.resolve(0), workflow: () => Promise.resolve(0) };
