// The contract's methods, as the generated code has them.

/** A service of the contract: `v1.LockServiceDefinition`, ... */
export interface Service {
  fullName: string;
  methods: Record<string, { name: string; requestType: Codec; responseType: Codec }>;
}

interface Codec {
  encode(message: never): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  fromPartial(fields: never): unknown;
}

type Message<C> = C extends { decode(bytes: Uint8Array): infer T } ? T : never;
export type RequestOf<S extends Service, M extends keyof S['methods']> = Message<S['methods'][M]['requestType']>;
export type ReplyOf<S extends Service, M extends keyof S['methods']> = Message<S['methods'][M]['responseType']>;

/** A method, as gRPC needs it. */
export interface Method<Q, A> {
  path: string;
  serialize: (request: Q) => Buffer;
  deserialize: (bytes: Buffer) => A;
  /** A request, whose other fields have their defaults. */
  request: (fields: Partial<Q>) => Q;
}

export function methodOf<S extends Service, M extends keyof S['methods'] & string>(
  { fullName, methods }: S,
  name: M,
): Method<RequestOf<S, M>, ReplyOf<S, M>> {
  const { name: nameInPath, requestType, responseType } = methods[name]!;
  return {
    path: `/${fullName}/${nameInPath}`,
    serialize: (request) => Buffer.from(requestType.encode(request as never).finish()),
    deserialize: (bytes) => responseType.decode(bytes) as ReplyOf<S, M>,
    request: (fields) => requestType.fromPartial(fields as never) as RequestOf<S, M>,
  };
}
