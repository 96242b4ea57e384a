/** Facts about a store as a whole, small and few, beside what the partitions hold. */
export interface StoreFacts {
  /** All facts by name. */
  facts(): Promise<ReadonlyMap<string, string>>;
  /** Durable when it resolves; the last value of a name holds. */
  keepFact(name: string, value: string): Promise<void>;
  /** From now on a program of format 1, which knows no facts, fails at its start. No node of it may be running. */
  refuseOlderPrograms(): Promise<void>;
}

/** What programs of one format left: each format has a fact of its own, so that none overwrites another's. */
export const formatFact = (format: number): string => `format.${format}`;
export const isFormatFact = (name: string): boolean => name.startsWith('format.');

/** The round of projection that a node has finished: everything it removed from the log before is in documents. */
export const roundFact = (node: string): string => `round.${node}`;
export const nodeOfRound = (name: string): string | null => (name.startsWith('round.') ? name.slice(6) : null);
