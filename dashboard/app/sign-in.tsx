import { useState } from 'react';
import { beginSignIn } from './oidc.ts';
import { signInWith, useSession } from './session.ts';

/** Shown in place of every page until the user has signed in. */
export function SignIn() {
  const { config, problem } = useSession();
  const [failure, setFailure] = useState<string | null>(null);
  const { oidc } = config;
  return (
    <main className="sign-in">
      <h1>svc</h1>
      {(failure ?? problem) !== null && (
        <p role="alert" className="notice notice-bad">
          {failure ?? problem}
        </p>
      )}
      {oidc === null ? (
        <TokenForm />
      ) : (
        <>
          <p>Users sign in to this node through {new URL(oidc.issuer).host}.</p>
          <button
            type="button"
            className="primary"
            onClick={() => {
              beginSignIn(oidc).catch((error: unknown) =>
                setFailure(`The identity provider cannot be reached: ${String(error)}. Try again.`),
              );
            }}
          >
            Sign in
          </button>
        </>
      )}
    </main>
  );
}

function TokenForm() {
  const [token, setToken] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (token.trim() !== '') signInWith(token.trim());
      }}
    >
      <label htmlFor="token">Token</label>
      <input
        id="token"
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={token}
        onChange={(event) => setToken(event.target.value)}
      />
      <p className="quiet">
        An API key, a token of your identity provider, or the content of <code>local-token</code> in the data directory
        of the node. The page keeps it in memory only. <code>dashboard.html</code> there opens this page signed in.
      </p>
      <button type="submit" className="primary" disabled={token.trim() === ''}>
        Use token
      </button>
    </form>
  );
}
