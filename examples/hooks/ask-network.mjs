#!/usr/bin/env node
// Wants a person to be asked before a command goes to the network.
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { command = "" } = JSON.parse(text);
const reaches = /\b(curl|wget|ssh|scp|nc)\b/.test(command);
console.log(JSON.stringify(reaches ? { permission: "ask", user_message: "network: " + command } : { permission: "allow" }));
