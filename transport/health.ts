/** What the readiness of the node's parts comes to. `why` is shown to anyone who asks: no addresses, no secrets. */
export interface Readiness {
  readonly ready: boolean;
  readonly why?: string;
}

export interface Health {
  ready(): Promise<Readiness>;
}
