// Divides a group's value among its members by the shares that they ask for, as `tenure group join --assign` wants it.

let text = '';
for await (const chunk of process.stdin) text += chunk;
/** @type {{ config: string, members: { number: string, metadata?: Record<string, string> }[] }} */
const group = JSON.parse(text);
const parts = group.members.map((member) => Number(member.metadata?.parts ?? 1));
const all = parts.reduce((sum, part) => sum + part, 0);
group.members.forEach((member, index) => {
  console.log(`${member.number} ${Math.floor((Number(group.config) * parts[index]) / all)}`);
});
