/** An attempt of a program to leave its sandbox. */
export interface SandboxEscape {
  readonly title: string;
  /**
   * A shell script that prints `GAINED`, or the sentinel, when it succeeds. Its variables: `$DATA` a data directory with
   * `secret`, `key.pem` and `other/file`; `$FILE` a file in a directory of /tmp; `$OUT` a directory to which every user may write; `$PORT` a server on loopback;
   * `$SOCKET` and `$ABSTRACT` Unix sockets; `$PID` a process with the sentinel in its environment; `$MARKER` a file's name.
   */
  readonly script: string;
  /**
   * User who gets it without the sandbox, which proves that the attempt can succeed. Null: not tried, since it would
   * harm this machine.
   */
  readonly without: 'user' | 'root' | null;
}

export const perl = (code: string): string => `timeout 5 perl -MSocket -MFcntl -e '${code}' 2>&1`;
/** Gains where the kernel does not refuse the call at once: an error about arguments comes after that check. */
export const call = (number: number, ...args: readonly string[]): string =>
  perl(
    `my @given = (${args.join(', ')}); my $r = syscall(${number}, @given); my $e = $! + 0; print "GAINED $r $e" if $r >= 0 or ($e != 1 and $e != 38 and $e != 13);`,
  );
export const tcp = (host: string): string =>
  perl(
    `socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in($ENV{PORT}, inet_aton("${host}"))) or die $!; print scalar <S>;`,
  );
export const unix = (name: string): string =>
  perl(`socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un(${name})) or die $!; print scalar <S>;`);
export const row = (title: string, script: string, without: SandboxEscape['without'] = 'user'): SandboxEscape => ({
  title,
  script,
  without,
});
export const gained = (condition: string): string => `if ${condition}; then echo GAINED; fi`;
