// The local queue: claims of one session that share a name take turns, because to the server asking twice is asking once.

/**
 * One line of claims for each name. A claim stands in the lines of all its names from asking until its hold has ended; it may
 * ask the server when it is first in all of them. All enter their lines at once, so nobody waits in a circle.
 */
export class Turns<C> {
  private readonly lines = new Map<string, C[]>();

  /** Enters the lines. Answers whether the claim is first in all of them. */
  join(claim: C, names: readonly string[]): boolean {
    for (const name of names) {
      const line = this.lines.get(name);
      if (line === undefined) {
        this.lines.set(name, [claim]);
      } else {
        line.push(claim);
      }
    }
    return this.isFirst(claim, names);
  }

  /** Whether a claim that is in its lines is first in all of them. */
  isFirst(claim: C, names: readonly string[]): boolean {
    return names.every((name) => this.lines.get(name)?.[0] === claim);
  }

  /** The claim that is first in the line of one of these names, if any is. */
  firstInWay(names: readonly string[]): C | undefined {
    const name = names.find((name) => this.lines.has(name));
    return name === undefined ? undefined : this.lines.get(name)?.[0];
  }

  /** Leaves the lines. Answers which claims are first in one of them now. */
  leave(claim: C, names: readonly string[]): C[] {
    const next = new Set<C>();
    for (const name of names) {
      const rest = (this.lines.get(name) ?? []).filter((other) => other !== claim);
      if (rest[0] === undefined) {
        this.lines.delete(name);
      } else {
        this.lines.set(name, rest);
        next.add(rest[0]);
      }
    }
    return [...next];
  }
}
