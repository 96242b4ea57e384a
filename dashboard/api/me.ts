import { useQuery } from '@tanstack/react-query';
import { setMe, useSession } from '../app/session.ts';
import { api } from './queries.ts';

/** Asks the node who calls and what the caller may do, once for each sign-in. */
export function useCaller(): void {
  const { signIn, config } = useSession();
  useQuery({
    queryKey: ['me', signIn],
    queryFn: async () => {
      const me = await api.callers.me();
      setMe(me);
      return me;
    },
    // A recording has no callers.
    enabled: config.recording === null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
